"""``python -m ascend_opcli`` is the command ``opcli``."""

from ascend_opcli.cli import main

if __name__ == "__main__":
    main()
