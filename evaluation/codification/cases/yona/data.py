"""Generated images with the layout of CIFAR-10: ten classes, 32x32 pixels, three channels; torch alone."""

import torch

COUNT, TEST_COUNT, SIZE, CLASSES = 300, 150, 32, 10


class Images(torch.utils.data.Dataset):
    """Coloured gratings: a class has its frequency and colour. An image is of shape (3, 32, 32): uint8 for training, as
    `PILToTensor` gives it, and normalized floats for testing."""

    def __init__(self, train):
        rng = torch.Generator().manual_seed(1 if train else 2)
        count = COUNT if train else TEST_COUNT
        self.targets = torch.randint(CLASSES, (count,), generator=rng)
        line = torch.arange(SIZE) / SIZE
        angle = (self.targets * torch.pi / CLASSES)[:, None, None]
        waves = line[None, :, None] * torch.cos(angle) + line[None, None, :] * torch.sin(angle)
        phase = torch.rand(count, 1, 1, generator=rng)
        grating = torch.sin(2 * torch.pi * (4 * waves + phase))
        images = 128 + 60 * grating[:, None] + 40 * torch.randn(count, 3, SIZE, SIZE, generator=rng)
        self.images = images.clamp(1, 255).to(torch.uint8)
        self.train = train

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, number):
        image, target = self.images[number], self.targets[number].item()
        return (image, target) if self.train else (normalize(image / 255), target)


def normalize(images):
    mean = torch.tensor([125.3, 123.0, 113.9]).view(3, 1, 1) / 255
    std = torch.tensor([63.0, 62.1, 66.7]).view(3, 1, 1) / 255
    return (images - mean) / std


class HorizontalFlip:
    """Flips all images of a batch, or none."""

    def __call__(self, images):
        return images.flip(3) if torch.rand(1) < 0.5 else images


class VerticalFlip:
    """Flips all images of a batch, or none."""

    def __call__(self, images):
        return images.flip(2) if torch.rand(1) < 0.5 else images
