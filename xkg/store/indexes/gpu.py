"""Builds an index on a GPU if the package, the driver and a device are available.

Johnson, Douze and Jégou, "Billion-scale similarity search with GPUs", IEEE Transactions on Big Data 7(3), 2021. The
result is an index for CPU, the only kind that is stored and searched: a GPU does not speed up single queries."""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)


def missing_gpu() -> str | None:
    """The reason why FAISS cannot use a GPU, or None if it can. Raises `ImportError` without FAISS."""
    import faiss

    if not hasattr(faiss, "StandardGpuResources"):
        return "the installed faiss is built for CPU alone"
    if faiss.get_num_gpus() == 0:
        return "faiss finds no GPU with a driver"
    return None


def filled(index: Any, vectors: "NDArray[np.float32]") -> Any:
    """An index for CPU with `vectors` in it: the empty `index`, trained and filled on the first GPU, or on the CPU
    without one. Logs one line if the GPU build of FAISS is installed but could not be used."""
    import faiss

    missing = missing_gpu()
    if missing is None:
        try:
            on_device = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)
            on_device.train(vectors)
            on_device.add(vectors)
            return faiss.index_gpu_to_cpu(on_device)
        except RuntimeError as error:  # for example, out of memory
            missing = " ".join(str(error).split())[:200]
    if hasattr(faiss, "StandardGpuResources"):
        log.warning("the vector index is built on CPU, which takes longer: %s", missing)
    index.train(vectors)
    index.add(vectors)
    return index
