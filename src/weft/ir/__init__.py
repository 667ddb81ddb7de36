"""The typed expression IR: its ops, how it is traced, verified, rewritten and interpreted."""
