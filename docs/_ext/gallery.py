"""What the gallery of examples is told: their order and their look."""

ORDER = """plot_digits plot_genes plot_text plot_pathways plot_time_series plot_map plot_learnt_graph
    plot_path plot_exact_fusion plot_certificate plot_where_each_wins plot_no_step_size plot_metrics plot_bounds
    plot_files plot_drift plot_own_loss""".split()


def place(filename):
    """The order of the gallery; what is not named comes last, by name, as tutorials do."""
    name = filename.removesuffix(".py")
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def clean_pictures(*_):
    """All pictures look alike, and can be read on a phone."""
    import matplotlib

    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.rcParams.update(
        {
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "legend.frameon": False,
        }
    )
