import argparse
import sys

sys.path.append("src")

from tangled import build_model, scale

parser = argparse.ArgumentParser()
parser.add_argument("--n", type=int, default=2)


def main():
    return build_model(args.n).run(scale(args.n))


def scaled(n):
    return scale(n) + 1


if __name__ == "__main__":
    args = parser.parse_args()
    print(main())
