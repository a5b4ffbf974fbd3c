"""What can be read in a picture."""


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def notes(ax):
    return [text.get_text() for text in ax.texts]


def spans(ax):
    """Ends of the stretches of x that are shaded."""
    found = []
    for patch in ax.patches:
        corners = patch.get_patch_transform().transform_path(patch.get_path()).vertices
        found.append((float(corners[:, 0].min()), float(corners[:, 0].max())))
    return found
