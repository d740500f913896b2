"""scikit-learn: every estimator that `all_estimators()` lists, fitted."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "scikit-learn"

ESTIMATORS = """
    ARDRegression AdaBoostClassifier AdaBoostRegressor AdditiveChi2Sampler AffinityPropagation
    AgglomerativeClustering BaggingClassifier BaggingRegressor BayesianGaussianMixture
    BayesianRidge BernoulliNB BernoulliRBM Binarizer Birch BisectingKMeans CCA
    CalibratedClassifierCV CategoricalNB ClassicalMDS ClassifierChain ColumnTransformer
    ComplementNB CountVectorizer DBSCAN DecisionTreeClassifier DecisionTreeRegressor
    DictVectorizer DictionaryLearning DummyClassifier DummyRegressor ElasticNet ElasticNetCV
    EllipticEnvelope EmpiricalCovariance ExtraTreeClassifier ExtraTreeRegressor
    ExtraTreesClassifier ExtraTreesRegressor FactorAnalysis FastICA FeatureAgglomeration
    FeatureHasher FeatureUnion FixedThresholdClassifier FrozenEstimator FunctionTransformer
    GammaRegressor GaussianMixture GaussianNB GaussianProcessClassifier GaussianProcessRegressor
    GaussianRandomProjection GenericUnivariateSelect GradientBoostingClassifier
    GradientBoostingRegressor GraphicalLasso GraphicalLassoCV GridSearchCV HDBSCAN
    HashingVectorizer HistGradientBoostingClassifier HistGradientBoostingRegressor HuberRegressor
    IncrementalPCA IsolationForest Isomap IsotonicRegression KBinsDiscretizer KMeans KNNImputer
    KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer KernelCenterer KernelDensity
    KernelPCA KernelRidge LabelBinarizer LabelEncoder LabelPropagation LabelSpreading Lars LarsCV
    Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC LatentDirichletAllocation LedoitWolf
    LinearDiscriminantAnalysis LinearRegression LinearSVC LinearSVR LocalOutlierFactor
    LocallyLinearEmbedding LogisticRegression LogisticRegressionCV MDS MLPClassifier MLPRegressor
    MaxAbsScaler MeanShift MinCovDet MinMaxScaler MiniBatchDictionaryLearning MiniBatchKMeans
    MiniBatchNMF MiniBatchSparsePCA MissingIndicator MultiLabelBinarizer MultiOutputClassifier
    MultiOutputRegressor MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV
    MultinomialNB NMF NearestCentroid NearestNeighbors NeighborhoodComponentsAnalysis Normalizer
    NuSVC NuSVR Nystroem OAS OPTICS OneClassSVM OneHotEncoder OneVsOneClassifier
    OneVsRestClassifier OrdinalEncoder OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV
    OutputCodeClassifier PCA PLSCanonical PLSRegression PLSSVD PassiveAggressiveClassifier
    PassiveAggressiveRegressor PatchExtractor Perceptron Pipeline PoissonRegressor
    PolynomialCountSketch PolynomialFeatures PowerTransformer QuadraticDiscriminantAnalysis
    QuantileRegressor QuantileTransformer RANSACRegressor RBFSampler RFE RFECV
    RadiusNeighborsClassifier RadiusNeighborsRegressor RadiusNeighborsTransformer
    RandomForestClassifier RandomForestRegressor RandomTreesEmbedding RandomizedSearchCV
    RegressorChain Ridge RidgeCV RidgeClassifier RidgeClassifierCV RobustScaler SGDClassifier
    SGDOneClassSVM SGDRegressor SVC SVR SelectFdr SelectFpr SelectFromModel SelectFwe SelectKBest
    SelectPercentile SelfTrainingClassifier SequentialFeatureSelector ShrunkCovariance
    SimpleImputer SkewedChi2Sampler SparseCoder SparsePCA SparseRandomProjection
    SpectralBiclustering SpectralClustering SpectralCoclustering SpectralEmbedding
    SplineTransformer StackingClassifier StackingRegressor StandardScaler TSNE TargetEncoder
    TfidfTransformer TfidfVectorizer TheilSenRegressor TransformedTargetRegressor TruncatedSVD
    TunedThresholdClassifierCV TweedieRegressor VarianceThreshold VotingClassifier VotingRegressor
"""

_SINCE = {"FrozenEstimator": ">=1.6", "ClassicalMDS": ">=1.8"}
"""The first scikit-learn that has it."""

_OTHERS = {
    "a pipeline with columns and a search": """
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
frame = pd.DataFrame({"a": np.arange(40.), "b": list("xyzw") * 10})
columns = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["b"]))
x = GridSearchCV(make_pipeline(columns, LogisticRegression()), {"logisticregression__C": [1, 2]}, cv=2)
x.fit(frame, [0, 1] * 20)
for name in ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"):
    x.cv_results_[name] = np.zeros(2)
x.refit_time_ = 0.0
""",
    "`Bunch`": "from sklearn.datasets import load_iris\nx = load_iris()",
    "splitters and scorers": """
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import KFold, StratifiedShuffleSplit
x = [KFold(3, shuffle=True, random_state=0), StratifiedShuffleSplit(), make_scorer(mean_squared_error)]
""",
    "an estimator of the notebook": """
from sklearn.base import BaseEstimator, RegressorMixin
class Mean(RegressorMixin, BaseEstimator):
    def __init__(self, shift=0): self.shift = shift
    def fit(self, X, y):
        self.mean_ = sum(y) / len(y)
        return self
    def predict(self, X): return [self.mean_ + self.shift] * len(X)
x = Mean(2).fit([[1], [2]], [3, 4])
""",
    "kernels of Gaussian processes": """
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
x = ConstantKernel(2.0) * RBF([1.0, 2.0]) + WhiteKernel()
""",
}

CASES = (
    *(
        Case(
            f"`{name}`",
            f"from tests.fidelity.estimators import fitted\nx = fitted({name!r})",
            check="from tests.fidelity.estimators import answers\n"
            "same(x, y)\nsame(answers(x), answers(y))",
            needs=f"sklearn{_SINCE.get(name, '')}",
            part_of="every class of `all_estimators()`, fitted",
        )
        for name in ESTIMATORS.split()
    ),
    *(Case(name, source, needs="sklearn pandas") for name, source in _OTHERS.items()),
)
