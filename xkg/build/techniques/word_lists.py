"""Lists lower-case words from English papers, for use in `names` and `terms`."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Lists words that do not identify a technique and cannot form a name without other words.
GENERIC = _words(
    """
    vanilla usual conventional naive iterative stochastic joint computational numerical automatic
    learnable trainable differentiable probabilistic
    a an the our its their this these that such own proposed new novel simple effective efficient general generic
    overall main key core basic standard practical common typical complete full entire whole final total first
    second third several various different additional alternative further other specific special particular improved
    better good optimal powerful scalable robust flexible principled unified unifying comprehensive following
    preliminary detailed formal theoretical empirical experimental resulting corresponding respective above below
    two three four five six one many multiple single end two-stage two-step three-step lightweight fast faster cheap
    natural straightforward intuitive useful promising popular original modified extended enhanced approach
    approaches method methods methodology algorithm algorithms framework frameworks technique techniques procedure
    procedures scheme schemes strategy strategies mechanism mechanisms solution solutions system systems pipeline
    pipelines paradigm setting settings setup problem problems formulation formulations perspective way idea ideas
    insight intuition concept work paper study analysis contribution contributions architecture architectures design
    designs model models modeling module modules component components step steps stage stages phase phases part
    parts loss losses objective objectives function functions term terms update updates rule rules network networks
    layer layers block blocks training train learning inference optimization optimisation implementation
    implementations overview detail details description notation notations definition definitions summary discussion
    remark remarks motivation background preliminaries introduction conclusion result results experiment experiments
    evaluation example examples illustration figure table section appendix complexity hyperparameter hyperparameters
    parameter parameters configuration baseline baselines dataset datasets data benchmark benchmarks metric metrics
    application applications task tasks property properties advantage advantages limitation limitations extension
    extensions variant variants version comparison comparisons theory proof neural deep learned large-scale machine
    statistical mathematical process workflow recipe tool toolkit library software code codebase class family set
    type kind form instance case aspect consideration considerations choice choices goal goals hypothesis hypotheses
    assumption assumptions question questions answer generation representation prediction selection computation
    calculation testing test time interpretation understanding whole similar same operation operations refinement
    refinements improvement improvements enhancement enhancements requirement requirements
    """
)
# If one of these words is followed by "of X" or "for X", the heading is about X.
ABOUT = _words(
    """
    overview framework architecture algorithm description detail details motivation intuition summary formulation
    definition derivation implementation pseudocode pseudo-code structure workflow illustration introduction
    explanation interpretation properties advantages advantage extension extensions application applications
    analysis complexity instantiation instantiations usage background review recap understanding design discussion
    limitations pipeline procedure training objective setting choice variant variants
    """
)
# A name with one of these head nouns refers to something that can be built or run.
HEADS = _words(
    """
    loss losses objective divergence module network networks layer layers algorithm sampler sampling estimator
    regularizer regularization regulariser penalty step update rule trick scheme strategy procedure mechanism
    encoder decoder autoencoder transformer attention embedding embeddings encoding decoding policy critic
    discriminator generator classifier probe prior kernel schedule scheduler scheduling normalization augmentation
    projection filter filtering pooling interpolation masking mask reweighting weighting distillation factorization
    decomposition optimization optimizer solver search planner planning controller adapter adaptation inference
    guidance clustering alignment matching regression classification segmentation detection retrieval ranking
    reranking initialization quantization compression pruning fine-tuning finetuning tuning pre-training pretraining
    training learning bootstrapping relabeling replay rehearsal buffer memory head backbone block cell unit gate
    gating flow diffusion model method approach framework architecture pipeline system process operator transform
    transformation score metric measure criterion index constraint perturbation correction calibration ensemble
    ensembling average averaging aggregation fusion integration selection labeling annotation parser tokenizer compiler
    cache caching allocator protocol engine hashing batching parallelism checkpointing offloading kernels routing
    router partitioning sharding prefetching simulation simulator reparameterization reparametrization restoration
    reconstruction generation intervention patching ablation reward bonus descent ascent iteration backpropagation
    differentiation minimization maximization approximation estimation prediction translation mapping expansion
    control controller pruner propagation convolution recurrence dropout smoothing splitting thresholding clipping
    """
)
# The steps of a method contain these actions. A heading that begins with an action names the step.
ACTIONS = _words(
    """
    update updating sample sampling compute computing estimate estimating select selecting initialize initializing
    draw drawing train training optimize optimizing project projecting aggregate aggregating generate generating
    encode encoding decode decoding normalize normalizing build building construct constructing extract extracting
    learn learning minimize minimizing maximize maximizing refine refining prune pruning merge merging split
    splitting align aligning match matching filter filtering rank ranking score scoring combine combining calculate
    calculating define defining determine determining assign assigning add adding remove removing
    """
)
# A name with one of these head nouns is not a technique, whatever words precede the noun.
NOT_HEADS = _words(
    """
    problem setting paradigm issue challenge limitation result improvement performance accuracy evidence insight
    analysis study experiment dataset datasets benchmark benchmarks corpus baseline survey review theorem lemma
    proof guarantee question hypothesis assumption phenomenon mismatch gap tradeoff trade-off bottleneck
    findings understanding explanation overview perspective view notion concept idea comparison evaluation example
    property properties area domain community work works paper contribution contributions
    importance role effect impact benefit cost advantage disadvantage goal aim clarification derivation
    efficiency scalability complexity convergence assumptions remark
    motivation intuition discussion observation justification implication conclusion notation definition introduction
    detail details outlook summary quality caption connection case implementation illustration
    demonstration
    principle principles principal principals desideratum desiderata
    """
)
# Lists names of techniques whose head nouns are in NOT_HEADS.
TECHNIQUES_NONETHELESS = frozenset(
    {
        "component analysis",
        "correlation analysis",
        "discriminant analysis",
        "factor analysis",
        "policy evaluation",
        "semantic analysis",
        "survival analysis",
    }
)

# A heading that begins or ends with one of these words can name a step, as in "Model Training" or "Loss Function".
STEPS = _words(
    """
    training inference optimization optimisation objective objectives loss losses function sampling decoding encoding
    initialization initialisation architecture design update updates augmentation regularization representation
    prediction selection estimation test tests
    """
)
# Lists adjectives. A name cannot consist of adjectives alone.
ADJECTIVES = _words(
    """
    similar same different identical equal equivalent close likely unlikely possible impossible large small high low
    higher lower larger smaller better worse best worst new old novel simple complex robust stable unstable sparse dense
    smooth fast slow faster slower efficient inefficient sufficient necessary consistent inconsistent dependent
    independent important relevant invariant equivariant specific generic general particular main key common rare
    proper correct wrong true false full empty bounded unbounded biased unbiased differentiable available useful
    """
)
# Lists words that end a noun phrase. The word "of" does not end a noun phrase.
STOP = _words(
    """
    that which who whose where when while to for by with via using from in on at into onto over under through based
    and or but as is are was were be been being can could may might will would shall should must has have had do
    does did not we our us they it its he she you i if then than so because since although though however thus hence
    therefore also both either between among during without within across against after before upon towards toward
    per instead rather only even just whereas given such called named termed dubbed denoted defined computed
    obtained trained designed used consisting comprising composed inspired allowing enabling aims aiming capable
    able along together throughout leading making achieving this these those there here according respectively looks
    """
)
# A heading that contains one of these words is a full sentence.
VERBS = _words(
    """
    is are was were be been has have had do does did can could will would may might must should shall cannot uses
    use used shows show shown yields yield converges converge outperforms outperform requires require remains remain
    avoids avoid improves improve reduces reduce achieves achieve provides provide gives give makes make leads lead
    helps help works enables enable allows allow becomes become needs need matters matter exhibits exhibit performs
    perform learns captures recovers depends generalizes generalize promotes promote encodes outperformed beats beat
    fails fail holds hold satisfies scales exists follows follow implies imply compare compares consider considers
    describe describes present presents propose proposes introduce introduces evaluate discuss let we our us you i
    it its they he she who what how why when whether which
    """
)
# Lists final words that do not change the meaning of a name.
SAME_KIND = _words(
    """
    module method algorithm approach framework technique procedure strategy scheme mechanism step stage phase model
    loss objective function term layer network block component operation process architecture system iteration
    iterations update
    """
)
# These words from the list above refer to a part of a method, not to a whole method.
PARTS = _words("loss objective module layer block")
# Lists words that are ignored when names are compared.
LITTLE = _words(
    """
    a an the of for in on with by via using to and our its from at as
    """
)
# A name that begins with one of these words refers to several techniques, as in "four tricks".
NUMBERS = frozenset("two three four five six seven eight nine ten both several various multiple many".split())
# Lists articles and words of praise that may precede a name.
LEADING = _words(
    """
    a an the our its this new novel simple effective efficient yet and but more proposed following so-called two
    three general generic principled practical scalable flexible powerful lightweight straightforward alternative
    different unified improved fast cheap first provably convergent computationally tractable closed-form,
    easy-to-use highly robust simple, stable theoretically grounded training-free data-efficient parameter-free
    plug-and-play easy-to-implement well-motivated end-to-end variant variation family class notion version form
    kind type set series of extension generalization intermediary intermediate additional
    """
)
