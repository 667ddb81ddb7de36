// The number rules of weft: integers wrap, nothing traps, results have the type of their operands.
//
// Operands of one call have one type and nothing is promoted. Integers are computed in an unsigned
// type of 32 or 64 bits and cut; x // 0 and x % 0 are 0; shifts take the count modulo the width;
// floats become integers by saturation, NaN becomes 0; minimum and maximum ignore NaN.
#ifndef WEFT_NUMBERS_CUH
#define WEFT_NUMBERS_CUH

#include "device.cuh"

// A function of the C library: CUDA has them built in, and so has a host compiler.
#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define WEFT_LIBM(name) ::name
#else
#define WEFT_LIBM(name) __builtin_##name
#endif

namespace weft {

using i8 = signed char;
using i16 = short;
using u16 = unsigned short;

// The unsigned type in which integers of a type are computed, and the one of its own width.
template <class T>
struct Words;
#define WEFT_WORDS(type, wide, same, has_sign) \
    template <>                                \
    struct Words<type> {                       \
        using Wide = wide;                     \
        using Same = same;                     \
        static constexpr bool sign = has_sign; \
    };
WEFT_WORDS(i8, u32, u8, true)
WEFT_WORDS(u8, u32, u8, false)
WEFT_WORDS(i16, u32, u16, true)
WEFT_WORDS(u16, u32, u16, false)
WEFT_WORDS(i32, u32, u32, true)
WEFT_WORDS(u32, u32, u32, false)
WEFT_WORDS(i64, u64, u64, true)
WEFT_WORDS(u64, u64, u64, false)
#undef WEFT_WORDS

template <class T>
using Wide = typename Words<T>::Wide;
template <class T>
constexpr u32 width_of = 8 * sizeof(T);

// The least and the greatest integer of a type.
template <class T>
constexpr T least = Words<T>::sign ? static_cast<T>(Wide<T>(1) << (width_of<T> - 1)) : T(0);
template <class T>
constexpr T greatest = static_cast<T>(~least<T>);

// The same bits as another type of the same size.
template <class To, class From>
WEFT_DEVICE To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "the two types must be of one size");
    union {
        From from;
        To to;
    } bits;
    bits.from = from;
    return bits.to;
}

template <class T>
WEFT_DEVICE T infinity();
template <>
WEFT_DEVICE float infinity<float>() {
    return same_bits<float>(0x7f800000u);
}
template <>
WEFT_DEVICE double infinity<double>() {
    return same_bits<double>(0x7ff0000000000000ull);
}
template <class T>
WEFT_DEVICE T not_a_number();
template <>
WEFT_DEVICE float not_a_number<float>() {
    return same_bits<float>(0x7fc00000u);
}
template <>
WEFT_DEVICE double not_a_number<double>() {
    return same_bits<double>(0x7ff8000000000000ull);
}

template <class T>
WEFT_DEVICE bool is_nan(T x) {
    return x != x;
}
template <class T>
WEFT_DEVICE bool is_inf(T x) {
    return x == infinity<T>() || x == -infinity<T>();
}
template <class T>
WEFT_DEVICE bool is_finite(T x) {
    return x - x == 0;
}

// Functions of floats, each in the type of its argument.
namespace real {
#define WEFT_REAL(name)                                                      \
    WEFT_DEVICE float name(float x) { return WEFT_LIBM(name##f)(x); }        \
    WEFT_DEVICE double name(double x) { return WEFT_LIBM(name)(x); }
WEFT_REAL(sqrt)
WEFT_REAL(exp)
WEFT_REAL(floor)
WEFT_REAL(fabs)
#undef WEFT_REAL
#define WEFT_REAL(name)                                                                \
    WEFT_DEVICE float name(float a, float b) { return WEFT_LIBM(name##f)(a, b); }      \
    WEFT_DEVICE double name(double a, double b) { return WEFT_LIBM(name)(a, b); }
WEFT_REAL(pow)
WEFT_REAL(fmod)
WEFT_REAL(copysign)
#undef WEFT_REAL
// a b + c, rounded once.
WEFT_DEVICE float fma(float a, float b, float c) { return WEFT_LIBM(fmaf)(a, b, c); }
WEFT_DEVICE double fma(double a, double b, double c) { return WEFT_LIBM(fma)(a, b, c); }
}  // namespace real

// Casts by value.
template <class To, class From>
struct Cast {
    static WEFT_DEVICE To of(From x) { return static_cast<To>(x); }
};
template <class From>
struct Cast<bool, From> {
    static WEFT_DEVICE bool of(From x) { return x != 0; }
};
template <class To>
struct Saturate {
    static WEFT_DEVICE To of(double x) {
        // Both bounds are powers of two, or 0: exact. What lies between them is cut towards 0.
        const double low = static_cast<double>(least<To>);
        const double high = 2.0 * static_cast<double>(Wide<To>(1) << (width_of<To> - 1));
        const double above = Words<To>::sign ? high / 2 : high;
        if (x != x) return To(0);
        if (x >= above) return greatest<To>;
        if (x <= low) return least<To>;
        return static_cast<To>(x);
    }
};
#define WEFT_SATURATE(type)                                                         \
    template <>                                                                     \
    struct Cast<type, float> {                                                      \
        static WEFT_DEVICE type of(float x) { return Saturate<type>::of(x); }       \
    };                                                                              \
    template <>                                                                     \
    struct Cast<type, double> {                                                     \
        static WEFT_DEVICE type of(double x) { return Saturate<type>::of(x); }      \
    };
WEFT_SATURATE(i8)
WEFT_SATURATE(u8)
WEFT_SATURATE(i16)
WEFT_SATURATE(u16)
WEFT_SATURATE(i32)
WEFT_SATURATE(u32)
WEFT_SATURATE(i64)
WEFT_SATURATE(u64)
#undef WEFT_SATURATE

template <class To, class From>
WEFT_DEVICE To to(From x) {
    return Cast<To, From>::of(x);
}

template <class T>
WEFT_DEVICE bool is_negative(T a) {
    if constexpr (Words<T>::sign) return a < 0;
    else return false;
}

// Sums, differences and products; those of truth values are `or` and `and`.
template <class T>
WEFT_DEVICE T add(T a, T b) {
    return static_cast<T>(Wide<T>(a) + Wide<T>(b));
}
template <class T>
WEFT_DEVICE T sub(T a, T b) {
    return static_cast<T>(Wide<T>(a) - Wide<T>(b));
}
template <class T>
WEFT_DEVICE T mul(T a, T b) {
    return static_cast<T>(Wide<T>(a) * Wide<T>(b));
}
template <class T>
WEFT_DEVICE T negative(T a) {
    return static_cast<T>(0 - Wide<T>(a));
}
template <class T>
WEFT_DEVICE T absolute(T a) {
    return is_negative(a) ? negative(a) : a;
}
template <class T>
WEFT_DEVICE T sign(T a) {
    return static_cast<T>((a > 0) - is_negative(a));
}
template <class T>
WEFT_DEVICE T real_sign(T a) {
    return a > 0 ? T(1) : a < 0 ? T(-1) : a != a ? a : T(0);
}
#define WEFT_FLOAT(type)                                                 \
    WEFT_DEVICE type add(type a, type b) { return a + b; }               \
    WEFT_DEVICE type sub(type a, type b) { return a - b; }               \
    WEFT_DEVICE type mul(type a, type b) { return a * b; }               \
    WEFT_DEVICE type negative(type a) { return -a; }                     \
    WEFT_DEVICE type absolute(type a) { return real::fabs(a); }          \
    WEFT_DEVICE type sign(type a) { return real_sign(a); }
WEFT_FLOAT(float)
WEFT_FLOAT(double)
#undef WEFT_FLOAT
WEFT_DEVICE bool add(bool a, bool b) { return a || b; }
WEFT_DEVICE bool mul(bool a, bool b) { return a && b; }

template <class T>
WEFT_DEVICE T bit_or(T a, T b) {
    return static_cast<T>(a | b);
}
template <class T>
WEFT_DEVICE T bit_and(T a, T b) {
    return static_cast<T>(a & b);
}

// Quotient and remainder rounded down; both are 0 where b is.
template <class T>
WEFT_DEVICE T floordiv(T a, T b) {
    if (b == 0) return T(0);
    if (!Words<T>::sign) return static_cast<T>(a / b);
    if (b == static_cast<T>(-1)) return negative(a);  // the least number would trap
    const T quotient = static_cast<T>(a / b);
    const T rest = static_cast<T>(a % b);
    const bool above = rest != 0 && is_negative(rest) != is_negative(b);
    return above ? static_cast<T>(quotient - 1) : quotient;
}
template <class T>
WEFT_DEVICE T mod(T a, T b) {
    if (b == 0) return T(0);
    if (!Words<T>::sign) return static_cast<T>(a % b);
    if (b == static_cast<T>(-1)) return T(0);
    const T rest = static_cast<T>(a % b);
    const bool other_sign = rest != 0 && is_negative(rest) != is_negative(b);
    return other_sign ? static_cast<T>(rest + b) : rest;
}

// NumPy's floor quotient and remainder of floats.
template <class T>
WEFT_DEVICE T real_floordiv(T a, T b) {
    if (b == 0) return a / b;
    const T rest = real::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return real::copysign(T(0), a / b);
    const T whole = real::floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
}
template <class T>
WEFT_DEVICE T real_mod(T a, T b) {
    const T rest = real::fmod(a, b);
    if (b == 0) return rest;
    if (rest == 0) return real::copysign(T(0), b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}
WEFT_DEVICE float floordiv(float a, float b) { return real_floordiv(a, b); }
WEFT_DEVICE double floordiv(double a, double b) { return real_floordiv(a, b); }
WEFT_DEVICE float mod(float a, float b) { return real_mod(a, b); }
WEFT_DEVICE double mod(double a, double b) { return real_mod(a, b); }

// A power by the squares that the bits of the exponent name. A negative exponent gives the
// reciprocal cut to an integer: what it leaves of 1 and -1 is told by its lowest bit.
template <class T>
WEFT_DEVICE T power(T base, T exponent) {
    const bool inverse = is_negative(exponent);
    if (inverse && base != 1 && base != static_cast<T>(-1)) return T(0);
    Wide<T> square = Wide<T>(base), product = 1;
    Wide<T> left = inverse ? Wide<T>(exponent) & 1 : Wide<T>(exponent);
    for (; left != 0; left >>= 1) {
        if (left & 1) product *= square;
        square *= square;
    }
    return static_cast<T>(product);
}
WEFT_DEVICE float power(float a, float b) { return real::pow(a, b); }
WEFT_DEVICE double power(double a, double b) { return real::pow(a, b); }

template <class T>
WEFT_DEVICE T shl(T a, T count) {
    return static_cast<T>(Wide<T>(a) << (Wide<T>(count) & (width_of<T> - 1)));
}
// Signed numbers keep their sign.
template <class T>
WEFT_DEVICE T shr(T a, T count) {
    return static_cast<T>(a >> (Wide<T>(count) & (width_of<T> - 1)));
}

// A NaN gives way to a number; of equal numbers the first.
template <class T>
WEFT_DEVICE T minimum(T a, T b) {
    return b < a || a != a ? b : a;
}
template <class T>
WEFT_DEVICE T maximum(T a, T b) {
    return b > a || a != a ? b : a;
}

template <class T>
WEFT_DEVICE i32 ones(T x) {
    const Wide<T> bits = static_cast<typename Words<T>::Same>(x);
    return static_cast<i32>(popcount(bits));
}
WEFT_DEVICE i32 ones(bool x) { return x; }
template <class T>
WEFT_DEVICE i32 leading_zeros(T x) {
    constexpr u32 above = width_of<Wide<T>> - width_of<T>;
    const Wide<T> bits = static_cast<typename Words<T>::Same>(x);
    return static_cast<i32>(clz(bits) - above);
}
WEFT_DEVICE i32 leading_zeros(bool x) { return 8 - x; }

// Whether two values differ bit for bit, NaN being equal to NaN.
template <class T>
WEFT_DEVICE bool differs(T a, T b) {
    return a != b;
}
WEFT_DEVICE bool differs(float a, float b) {
    return same_bits<u32>(a) != same_bits<u32>(b) && !(a != a && b != b);
}
WEFT_DEVICE bool differs(double a, double b) {
    return same_bits<u64>(a) != same_bits<u64>(b) && !(a != a && b != b);
}

}  // namespace weft

#endif
