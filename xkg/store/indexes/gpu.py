"""Building an index on a GPU, where the package, the driver and a device are there.

Johnson, Douze and Jégou, "Billion-scale similarity search with GPUs", IEEE Transactions on Big Data 7(3), 2021. What is
built comes back as an index for CPU, the only kind that is stored and searched: one query at a time gains nothing.
"""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)


def missing_gpu() -> str | None:
    """What keeps FAISS from using a GPU, or None where it can. Raises `ImportError` without FAISS."""
    import faiss

    if not hasattr(faiss, "StandardGpuResources"):
        return "the installed faiss is built for CPU alone"
    if faiss.get_num_gpus() == 0:
        return "faiss finds no GPU with a driver"
    return None


def filled(index: Any, vectors: "NDArray[np.float32]") -> Any:
    """An index for CPU with `vectors` in it: the empty `index` trained and filled on the first GPU, or here where there
    is none. One line is logged where the GPU build of FAISS is installed and could not be used."""
    import faiss

    missing = missing_gpu()
    if missing is None:
        try:
            on_device = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)
            on_device.train(vectors)
            on_device.add(vectors)
            return faiss.index_gpu_to_cpu(on_device)
        except RuntimeError as error:  # for instance for want of memory
            missing = " ".join(str(error).split())[:200]
    if hasattr(faiss, "StandardGpuResources"):
        log.warning("the vector index is built on CPU, which takes longer: %s", missing)
    index.train(vectors)
    index.add(vectors)
    return index
