"""One page that tells what a model has learned: self-contained HTML, for screens, phones and paper."""

from kullback.report._write import write_report

__all__ = ["write_report"]
