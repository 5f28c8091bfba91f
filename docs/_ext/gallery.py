"""Settings of the gallery: the order of the examples and the style of their figures."""

ORDER = """plot_planted_image plot_digits plot_genes plot_text plot_pathways plot_time_series plot_trend_filter
    plot_denoise_image plot_map plot_network_lasso plot_learnt_graph plot_path plot_exact_fusion plot_certificate
    plot_where_each_wins plot_no_step_size plot_metrics plot_bounds plot_files plot_drift plot_own_loss""".split()


def place(filename):
    """The sort key of the gallery; unlisted files, such as tutorials, come last, by name."""
    name = filename.removesuffix(".py")
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def clean_pictures(*_):
    """Give all figures the same style, readable on a phone."""
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
