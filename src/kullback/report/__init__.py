"""One page about what a model has learned: self-contained HTML, for screens, phones and paper. And one picture.

Every model has a page. `view_model`, `model_sections` and `draw_model` are functions of the model by
`functools.singledispatch`: register its class with them where it has more to show.
"""

from kullback.report._context import ReportContext
from kullback.report._parts import Picture, Section, Table, picture, table
from kullback.report._plot import draw_model, plot
from kullback.report._sections import model_sections
from kullback.report._view import ModelView, view_model
from kullback.report._write import write_report

__all__ = [
    "ModelView",
    "Picture",
    "ReportContext",
    "Section",
    "Table",
    "draw_model",
    "model_sections",
    "picture",
    "plot",
    "table",
    "view_model",
    "write_report",
]
