"""Examples under a help text."""


def example(*lines: str) -> str:
    r"""Return an epilog that shows commands as they are typed; \b keeps the lines apart."""
    return "\b\nExample:\n" + "\n".join(f"  $ {line}" for line in lines)
