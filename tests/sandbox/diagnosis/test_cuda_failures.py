import pytest

from xkg.sandbox.diagnosis.cuda_failures import cuda_remedy, device_options, names_cuda

LAST = 'Traceback (most recent call last):\n  File "/tmp/job/work/train.py", line 9, in <module>\n'


@pytest.mark.parametrize(
    "output",
    [
        f"{LAST}    x = x.to(device)\nRuntimeError: Found no NVIDIA driver on your system.\n",
        f"{LAST}    assert torch.cuda.is_available()\n           ^^^^^^^^^\nAssertionError\n",
        f"{LAST}    import kernels\nOSError: CUDA_HOME environment variable is not set.\n",
        "No GPU found, exiting\n",
    ],
)
def test_a_run_that_needs_a_gpu_is_told_what_stands_in_for_it(output: str) -> None:
    assert names_cuda(output)
    assert cuda_remedy([], on_cpu=False) == "it needs a GPU; pass --cpu to run its CUDA code on the CPU"
    told = cuda_remedy(["--no-cuda"], on_cpu=True)
    assert told == (
        "CUDA kernels, Triton and NCCL cannot run on the CPU; the code's own option --no-cuda may turn CUDA off"
    )


def test_other_failures_are_not_told() -> None:
    before = 'Traceback (most recent call last):\n  File "/x.py", line 1\n    cuda()\nRuntimeError: CUDA\n\n'
    frame = '  File "/tmp/job/work/cuda/steps.py", line 2, in run\n    x / 0\n'
    failed = f"{before}{LAST}    run(x)\n{frame}ZeroDivisionError\n"
    assert not names_cuda(failed)
    assert not names_cuda(f"{LAST}    y = net(x.cuda())\nValueError: shapes do not match\n")
    assert not names_cuda(f"{LAST}    import pycuda\nModuleNotFoundError: No module named 'pycuda'\n")


def test_a_function_that_torch_has_for_cuda_alone_is_told_where_the_cpu_stood_in() -> None:
    failed = f"{LAST}    x.abs()\nNotImplementedError: \"abs_cpu\" not implemented for 'Bool'\n"
    assert names_cuda(failed, on_cpu=True)
    assert not names_cuda(failed)


def test_options_that_turn_something_off_come_first() -> None:
    text = "add_argument('--device', '-d')\nadd_argument(\"--no_cuda\")\noption('--lr')\nadd_argument('--gpu-id')"
    assert device_options([text, text]) == ["--no_cuda", "--device", "--gpu-id"]
