"""Maximum and minimum that vectorise in compiled loops.

Numba's own `max` looks after NaN and keeps its loops scalar, four times slower in the
solvers' passes. These emit LLVM's maxnum and minnum, told that there is no NaN; called
from Python they are plain comparisons.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload


def larger(a, b):
    """max(a, b) for numbers that are never NaN; compiled, one vector instruction."""
    return a if a > b else b


def smaller(a, b):
    """min(a, b) for numbers that are never NaN; compiled, one vector instruction."""
    return a if a < b else b


def _extremum(name):
    @intrinsic
    def call(_context, a, b):
        if a != b or a not in (types.float32, types.float64):
            return None
        llvm_type = ir.FloatType() if a == types.float32 else ir.DoubleType()

        def codegen(_ctx, builder, _sig, args):
            shape = ir.FunctionType(llvm_type, [llvm_type, llvm_type])
            function = builder.module.declare_intrinsic(name, [llvm_type], shape)
            return builder.call(function, args, fastmath=("nnan", "nsz"))

        return a(a, b), codegen

    return call


_maxnum = _extremum("llvm.maxnum")
_minnum = _extremum("llvm.minnum")


@overload(larger, inline="always")
def _larger_compiled(a, b):
    return lambda a, b: _maxnum(a, b)


@overload(smaller, inline="always")
def _smaller_compiled(a, b):
    return lambda a, b: _minnum(a, b)
