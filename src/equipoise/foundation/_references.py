"""What to cite: the paper behind everything that is registered, as BibTeX.

A thing names the paper it was taken from; some have an older origin, which is cited too. A plug-in's paper is not known
here: its own documentation says what to cite.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.foundation._registry import (
    Entry,
    registry,
)


@dataclass(frozen=True)
class Reference:
    """One entry of a bibliography; ``publication`` is its journal, book or site, by the name BibTeX has for it."""

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    year: int
    publication: tuple[tuple[str, str], ...] = ()

    @property
    def short(self) -> str:
        """The entry as a sentence names it: authors and year."""
        names = [author.partition(",")[0] for author in self.authors]
        first = names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} et al."
        return f"{first} {self.year}"

    @property
    def bibtex(self) -> str:
        """The entry as BibTeX; the title keeps its capitals."""
        fields = [("author", " and ".join(self.authors)), ("title", f"{{{self.title}}}"), *self.publication]
        lines = [f"  {name:<9} = {{{value}}}," for name, value in [*fields, ("year", str(self.year))]]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"]) + "\n"


def _paper(key: str, authors: str, title: str, year: int, booktitle: str, **more: str) -> Reference:
    where = (("booktitle", booktitle), *more.items())
    return Reference(key, "inproceedings", tuple(authors.split("; ")), title, year, where)


def _article(key: str, authors: str, title: str, year: int, journal: str, **more: str) -> Reference:
    return Reference(key, "article", tuple(authors.split("; ")), title, year, (("journal", journal), *more.items()))


def _data(key: str, authors: str, title: str, year: int, **more: str) -> Reference:
    return Reference(key, "misc", tuple(authors.split("; ")), title, year, tuple(more.items()))


NEURIPS, ICML = "Advances in Neural Information Processing Systems", "International Conference on Machine Learning"
ICLR = "International Conference on Learning Representations"

REFERENCES = {
    reference.key: reference
    for reference in (
        _paper(
            "dullerud2022", "Dullerud, Natalie; Roth, Karsten; Hamidieh, Kimia; Papernot, Nicolas; Ghassemi, Marzyeh",
            "Is Fairness Only Metric Deep? Evaluating and Addressing Subgroup Gaps in Deep Metric Learning", 2022, ICLR,
        ),
        _paper(
            "han2022", "Han, Xudong; Shen, Aili; Cohn, Trevor; Baldwin, Timothy; Frermann, Lea",
            "Systematic Evaluation of Predictive Fairness", 2022,
            "Conference of the Asia-Pacific Chapter of the Association for Computational Linguistics (AACL-IJCNLP)",
        ),
        _paper(
            "li2021", "Li, Zhiheng; Xu, Chenliang",
            "Discover the Unknown Biased Attribute of an Image Classifier", 2021,
            "IEEE/CVF International Conference on Computer Vision (ICCV)",
        ),
        _article(
            "kolling2025", "Kolling, Camila; Speicher, Till; Nanda, Vedant; Toneva, Mariya; Gummadi, Krishna P.",
            "Investigating the Effects of Fairness Interventions Using Pointwise Representational Similarity", 2025,
            "Transactions on Machine Learning Research", url="https://openreview.net/forum?id=CkVlt2Qgdb",
        ),
        _paper(
            "qian2021",
            "Qian, Shangshu; Pham, Hung Viet; Lutellier, Thibaud; Hu, Zeou; Kim, Jungwon; Tan, Lin; Yu, Yaoliang; "
            "Chen, Jiahao; Shah, Sameena",
            "Are My Deep Learning Systems Fair? An Empirical Study of Fixed-Seed Training", 2021, NEURIPS, volume="34",
        ),
        _paper(
            "verma2018", "Verma, Sahil; Rubin, Julia", "Fairness Definitions Explained", 2018,
            "International Workshop on Software Fairness (FairWare)", pages="1--7",
        ),
        _article(
            "calders2010", "Calders, Toon; Verwer, Sicco",
            "Three Naive Bayes Approaches for Discrimination-Free Classification", 2010,
            "Data Mining and Knowledge Discovery", volume="21", number="2", pages="277--292",
        ),
        _paper(
            "feldman2015",
            "Feldman, Michael; Friedler, Sorelle A.; Moeller, John; Scheidegger, Carlos; Venkatasubramanian, Suresh",
            "Certifying and Removing Disparate Impact", 2015,
            "ACM SIGKDD International Conference on Knowledge Discovery and Data Mining", pages="259--268",
        ),
        _paper(
            "kearns2018", "Kearns, Michael; Neel, Seth; Roth, Aaron; Wu, Zhiwei Steven",
            "Preventing Fairness Gerrymandering: Auditing and Learning for Subgroup Fairness", 2018, ICML,
            pages="2564--2572",
        ),
        _paper(
            "hardt2016", "Hardt, Moritz; Price, Eric; Srebro, Nati",
            "Equality of Opportunity in Supervised Learning", 2016, NEURIPS, volume="29", pages="3315--3323",
        ),
        _paper(
            "agarwal2018", "Agarwal, Alekh; Beygelzimer, Alina; Dudik, Miroslav; Langford, John; Wallach, Hanna",
            "A Reductions Approach to Fair Classification", 2018, ICML, pages="60--69",
        ),
        _paper(
            "belrose2023",
            "Belrose, Nora; Schneider-Joseph, David; Ravfogel, Shauli; Cotterell, Ryan; Raff, Edward; Biderman, Stella",
            "LEACE: Perfect linear concept erasure in closed form", 2023, NEURIPS, volume="36",
        ),
        _paper(
            "zhao2017", "Zhao, Jieyu; Wang, Tianlu; Yatskar, Mark; Ordonez, Vicente; Chang, Kai-Wei",
            "Men Also Like Shopping: Reducing Gender Bias Amplification using Corpus-level Constraints", 2017,
            "Conference on Empirical Methods in Natural Language Processing", pages="2979--2989",
        ),
        _article(
            "chouldechova2017", "Chouldechova, Alexandra",
            "Fair Prediction with Disparate Impact: A Study of Bias in Recidivism Prediction Instruments", 2017,
            "Big Data", volume="5", number="2", pages="153--163",
        ),
        _article(
            "hanley1982", "Hanley, James A.; McNeil, Barbara J.",
            "The Meaning and Use of the Area under a Receiver Operating Characteristic (ROC) Curve", 1982, "Radiology",
            volume="143", number="1", pages="29--36",
        ),
        _article(
            "brier1950", "Brier, Glenn W.", "Verification of Forecasts Expressed in Terms of Probability", 1950,
            "Monthly Weather Review", volume="78", number="1", pages="1--3",
        ),
        _paper(
            "naeini2015", "Naeini, Mahdi Pakdaman; Cooper, Gregory F.; Hauskrecht, Milos",
            "Obtaining Well Calibrated Probabilities Using Bayesian Binning", 2015,
            "AAAI Conference on Artificial Intelligence",
        ),
        _paper(
            "sagawa2020", "Sagawa, Shiori; Koh, Pang Wei; Hashimoto, Tatsunori B.; Liang, Percy",
            "Distributionally Robust Neural Networks for Group Shifts: On the Importance of Regularization for "
            "Worst-Case Generalization", 2020, ICLR,
        ),
        _paper(
            "kornblith2019", "Kornblith, Simon; Norouzi, Mohammad; Lee, Honglak; Hinton, Geoffrey",
            "Similarity of Neural Network Representations Revisited", 2019, ICML,
        ),
        _paper(
            "zemel2013", "Zemel, Rich; Wu, Yu; Swersky, Kevin; Pitassi, Toni; Dwork, Cynthia",
            "Learning Fair Representations", 2013, ICML,
        ),
        _paper(
            "han2022a", "Han, Xudong; Baldwin, Timothy; Cohn, Trevor",
            "Balancing out Bias: Achieving Fairness Through Balanced Training", 2022,
            "Conference on Empirical Methods in Natural Language Processing",
        ),
        _paper(
            "elazar2018", "Elazar, Yanai; Goldberg, Yoav",
            "Adversarial Removal of Demographic Attributes from Text Data", 2018,
            "Conference on Empirical Methods in Natural Language Processing", pages="11--21",
        ),
        _paper(
            "han2021", "Han, Xudong; Baldwin, Timothy; Cohn, Trevor",
            "Diverse Adversaries for Mitigating Bias in Training", 2021,
            "Conference of the European Chapter of the Association for Computational Linguistics",
        ),
        _paper(
            "roh2021", "Roh, Yuji; Lee, Kangwook; Whang, Steven Euijong; Suh, Changho",
            "FairBatch: Batch Selection for Model Fairness", 2021, ICLR,
        ),
        _paper(
            "shen2022", "Shen, Aili; Han, Xudong; Cohn, Trevor; Baldwin, Timothy; Frermann, Lea",
            "Optimising Equal Opportunity Fairness in Model Training", 2022,
            "Conference of the North American Chapter of the Association for Computational Linguistics",
        ),
        _paper(
            "ravfogel2020", "Ravfogel, Shauli; Elazar, Yanai; Gonen, Hila; Twiton, Michael; Goldberg, Yoav",
            "Null It Out: Guarding Protected Attributes by Iterative Nullspace Projection", 2020,
            "Annual Meeting of the Association for Computational Linguistics",
        ),
        _data(
            "angwin2016", "Angwin, Julia; Larson, Jeff; Mattu, Surya; Kirchner, Lauren", "Machine Bias", 2016,
            howpublished="ProPublica",
        ),
        _data(
            "becker1996", "Becker, Barry; Kohavi, Ronny", "Adult", 1996,
            howpublished="UCI Machine Learning Repository", doi="10.24432/C5XW20",
        ),
        _paper(
            "ding2021", "Ding, Frances; Hardt, Moritz; Miller, John; Schmidt, Ludwig",
            "Retiring Adult: New Datasets for Fair Machine Learning", 2021, NEURIPS, volume="34",
        ),
        _data(
            "hofmann1994", "Hofmann, Hans", "Statlog (German Credit Data)", 1994,
            howpublished="UCI Machine Learning Repository",
        ),
        _article(
            "redmond2002", "Redmond, Michael; Baveja, Alok",
            "A Data-Driven Software Tool for Enabling Cooperative Information Sharing among Police Departments", 2002,
            "European Journal of Operational Research", volume="141", number="3", pages="660--678",
        ),
        _paper(
            "wang2019", "Wang, Tianlu; Zhao, Jieyu; Yatskar, Mark; Chang, Kai-Wei; Ordonez, Vicente",
            "Balanced Datasets Are Not Enough: Estimating and Mitigating Gender Bias in Deep Image Representations",
            2019, "IEEE/CVF International Conference on Computer Vision (ICCV)", pages="5310--5319",
        ),
        _paper(
            "lokhande2020", "Lokhande, Vishnu Suresh; Akash, Aditya Kumar; Ravi, Sathya N.; Singh, Vikas",
            "FairALM: Augmented Lagrangian Method for Training Fair Models with Little Regret", 2020,
            "European Conference on Computer Vision (ECCV)", pages="365--381",
        ),
        _paper(
            "wang2020",
            "Wang, Zeyu; Qinami, Klint; Karakozis, Ioannis Christos; Genova, Kyle; Nair, Prem; Hata, Kenji; "
            "Russakovsky, Olga",
            "Towards Fairness in Visual Recognition: Effective Strategies for Bias Mitigation", 2020,
            "IEEE/CVF Conference on Computer Vision and Pattern Recognition", pages="8916--8925",
        ),
        _data(
            "krizhevsky2009", "Krizhevsky, Alex", "Learning Multiple Layers of Features from Tiny Images", 2009,
            howpublished="Technical report, University of Toronto",
        ),
        _data(
            "wah2011", "Wah, Catherine; Branson, Steve; Welinder, Peter; Perona, Pietro; Belongie, Serge",
            "The Caltech-UCSD Birds-200-2011 Dataset", 2011, howpublished="Technical report CNS-TR-2011-001, Caltech",
        ),
        _paper(
            "krause2013", "Krause, Jonathan; Stark, Michael; Deng, Jia; Fei-Fei, Li",
            "3D Object Representations for Fine-Grained Categorization", 2013,
            "IEEE Workshop on 3D Representation and Recognition (3dRR)",
        ),
        _data(
            "huang2007", "Huang, Gary B.; Ramesh, Manu; Berg, Tamara; Learned-Miller, Erik",
            "Labeled Faces in the Wild: A Database for Studying Face Recognition in Unconstrained Environments", 2007,
            howpublished="Technical report 07-49, University of Massachusetts, Amherst",
        ),
        _paper(
            "karkkainen2021", "Karkkainen, Kimmo; Joo, Jungseock",
            "FairFace: Face Attribute Dataset for Balanced Race, Gender, and Age for Bias Measurement and Mitigation",
            2021, "IEEE/CVF Winter Conference on Applications of Computer Vision (WACV)",
        ),
        _article(
            "lake2015", "Lake, Brenden M.; Salakhutdinov, Ruslan; Tenenbaum, Joshua B.",
            "Human-level Concept Learning through Probabilistic Program Induction", 2015, "Science", volume="350",
        ),
        _data(
            "nene1996", "Nene, Sameer A.; Nayar, Shree K.; Murase, Hiroshi",
            "Columbia Object Image Library (COIL-20)", 1996,
            howpublished="Technical report CUCS-005-96, Columbia University",
        ),
        _paper(
            "blodgett2016", "Blodgett, Su Lin; Green, Lisa; O'Connor, Brendan",
            "Demographic Dialectal Variation in Social Media: A Case Study of African-American English", 2016,
            "Conference on Empirical Methods in Natural Language Processing (EMNLP)", pages="1119--1130",
        ),
        _paper(
            "de-arteaga2019",
            "De-Arteaga, Maria; Romanov, Alexey; Wallach, Hanna; Chayes, Jennifer; Borgs, Christian; "
            "Chouldechova, Alexandra; Geyik, Sahin; Kenthapadi, Krishnaram; Kalai, Adam Tauman",
            "Bias in Bios: A Case Study of Semantic Representation Bias in a High-Stakes Setting", 2019,
            "Conference on Fairness, Accountability, and Transparency", pages="120--128",
        ),
        _paper(
            "preotiuc-pietro2016",
            "Preotiuc-Pietro, Daniel; Schwartz, H. Andrew; Park, Gregory; Eichstaedt, Johannes; Kern, Margaret; "
            "Ungar, Lyle; Shulman, Elisabeth",
            "Modelling Valence and Arousal in Facebook Posts", 2016,
            "Workshop on Computational Approaches to Subjectivity, Sentiment and Social Media Analysis (WASSA)",
            pages="9--15",
        ),
        _paper(
            "reimers2019", "Reimers, Nils; Gurevych, Iryna",
            "Sentence-BERT: Sentence Embeddings Using Siamese BERT-Networks", 2019,
            "Conference on Empirical Methods in Natural Language Processing (EMNLP)", pages="3982--3992",
        ),
        _data(
            "wightman1998", "Wightman, Linda F.", "LSAC National Longitudinal Bar Passage Study", 1998,
            howpublished="Law School Admission Council, LSAC Research Report Series",
        ),
    )
}  # fmt: skip

# The papers as registered things name them; what the whole field uses has a survey of it.
PAPERS = {
    "000": "dullerud2022", "001": "han2022", "002": "li2021", "003": "kolling2025", "004": "qian2021",
    "field": "verma2018", "Angwin et al. 2016": "angwin2016", "Becker and Kohavi 1996": "becker1996",
    "Ding et al. 2021": "ding2021", "Hofmann 1994": "hofmann1994", "Redmond and Baveja 2002": "redmond2002",
    "Wightman 1998": "wightman1998", "Krizhevsky 2009": "krizhevsky2009", "Wang et al. 2020": "wang2020",
    "Wah et al. 2011": "wah2011", "Krause et al. 2013": "krause2013", "Huang et al. 2007": "huang2007",
    "Karkkainen and Joo 2021": "karkkainen2021", "Lake et al. 2015": "lake2015",
    "Nene et al. 1996": "nene1996", "Blodgett et al. 2016": "blodgett2016",
    "De-Arteaga et al. 2019": "de-arteaga2019", "Preotiuc-Pietro et al. 2016": "preotiuc-pietro2016",
    "Reimers and Gurevych 2019": "reimers2019", "Sagawa et al. 2020": "sagawa2020",
    "Agarwal et al. 2018": "agarwal2018", "Belrose et al. 2023": "belrose2023", "Hardt et al. 2016": "hardt2016",
}  # fmt: skip


def citation(paper: str) -> str:
    """Name a paper as a sentence does, by its authors and year.

    Examples
    --------
    >>> cited("004")
    'Qian et al. 2021'
    """
    return REFERENCES[PAPERS[paper]].short if paper in PAPERS else paper


def references_of(entry: Entry) -> tuple[Reference, ...]:
    """Return what to cite for a registered thing: its paper and its origin; nothing where its paper is not known.

    What compares groups by another measure has the origin of that one, unless it has its own.
    """
    origin, of = entry.origin, entry.details.get("of")
    if origin is None and of is not None:
        origin = registry.get(entry.kind, str(of)).origin
    keys = (PAPERS.get(entry.paper), origin)
    return tuple(REFERENCES[key] for key in dict.fromkeys(keys) if key in REFERENCES)


def bibtex_of(entries: Iterable[Entry]) -> str:
    """Return the bibliography of registered things, each reference once and with what it is cited for."""
    cited: dict[Reference, list[str]] = {}
    unknown = []
    for entry in entries:
        references = references_of(entry)
        for reference in references:
            cited.setdefault(reference, []).append(entry.alias or entry.name)
        if not references:
            unknown.append(f"% {entry.name}: its package says what to cite ({entry.paper or 'no paper named'})\n")
    parts = [f"% for {', '.join(names)}\n{reference.bibtex}" for reference, names in cited.items()]
    return "\n".join([*parts, *unknown])


def bibtex_for(kind: str, name: str) -> str:
    """Return the bibliography of one registered thing."""
    return bibtex_of([registry.get(kind, name)])
