"""For the examples: `print(show("What there is to see"))` puts a figure on the page."""

import base64
import html
import io

__all__ = ["show"]


SHARP = 160
"""Dots per inch drawn."""

SHOWN = 84
"""Dots per inch on the page: less, so that figures are sharp on fine screens too."""


def show(alt, caption=None):
    """Give the figure that was drawn last as HTML, with words for who cannot see it.

    Parameters
    ----------
    alt : str
        What there is to see.
    caption : str, optional
        A line below the figure.
    """
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure = plt.gcf()
    figure.savefig(buffer, format="png", dpi=SHARP, facecolor="white")
    width = round(SHOWN * figure.get_figwidth())
    plt.close("all")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    image = f'<img src="data:image/png;base64,{data}" width="{width}" alt="{html.escape(alt)}">'
    words = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f'<figure class="drawn">{image}{words}</figure>'
