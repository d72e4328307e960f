"""Which processor numba compiles for."""

__all__ = ["compiled_for"]


def compiled_for():
    """Name and features of the processor that this process compiles for, as LLVM calls them."""
    from numba.core.registry import cpu_target

    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return name, features
