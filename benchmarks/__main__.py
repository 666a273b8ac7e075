"""Run comparisons and print one table: all of them, or those that are named; `--full` also the slow parts."""

import argparse

from benchmarks import (
    autoencoder,
    binary,
    black_box,
    boltzmann,
    boosting,
    cold_start,
    combination,
    gaussian_family,
    gaussian_mixture,
    helmholtz,
    hidden_markov,
    import_time,
    imputation,
    kalman,
    learning_coefficient,
    linear,
    memory,
    networks,
    online,
    pac_bayes,
    process,
    reading,
    scaling,
    search_cost,
    selection,
    streams,
    tune,
)
from benchmarks._timing import HEAD

COMPARISONS = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        import_time,
        gaussian_family,
        gaussian_mixture,
        cold_start,
        selection,
        online,
        reading,
        combination,
        memory,
        hidden_markov,
        imputation,
        autoencoder,
        kalman,
        linear,
        scaling,
        networks,
        boltzmann,
        search_cost,
        black_box,
        binary,
        boosting,
        helmholtz,
        pac_bayes,
        tune,
        learning_coefficient,
        process,
        streams,
    )
}


def main() -> None:
    """Print the table. A ratio above 1 says that kullback is faster; other numbers say what they are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(COMPARISONS)}; all when none is given")
    parser.add_argument("--full", action="store_true", help="also what takes minutes: long tables, more seeds")
    options = parser.parse_args()
    unknown = set(options.names) - set(COMPARISONS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: the comparisons are {', '.join(COMPARISONS)}")
    print(HEAD)
    for name in options.names or COMPARISONS:
        for row in COMPARISONS[name].run(options.full):
            print(row, flush=True)


if __name__ == "__main__":
    main()
