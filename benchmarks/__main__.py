"""Run every comparison and print one table of ratios."""

from benchmarks import gaussian_family, import_time

COMPARISONS = (import_time, gaussian_family)


def main() -> None:
    """Print the table: above 1, kullback is faster."""
    print(f"{'what':<62}{'peer':<30}{'peer ms':>10}{'ours ms':>10}{'ratio':>8}{'target':>8}")
    for comparison in COMPARISONS:
        for row in comparison.run():
            print(
                f"{row.what:<62}{row.peer:<30}{row.peer_seconds * 1e3:>10.2f}{row.seconds * 1e3:>10.2f}"
                f"{row.peer_seconds / row.seconds:>8.2f}{row.target:>8.2f}"
            )


if __name__ == "__main__":
    main()
