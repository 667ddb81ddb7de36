// Tiles of the adjacency matrix, one after another, each in compressed rows or coordinates.
//
// A row is the stretch of a vertex in a tile: see listed.cuh.
#ifndef WEFT_FORMAT_BLOCKING_CUH
#define WEFT_FORMAT_BLOCKING_CUH

#include "listed.cuh"

#endif
