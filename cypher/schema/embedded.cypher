// The tables of the embedded graph: nodes, then edges. Ids are set by xkg; anything nested is a JSON string.

CREATE NODE TABLE Paper (
    id STRING PRIMARY KEY, title STRING, abstract STRING, authors STRING[], year INT64, arxiv_id STRING,
    arxiv_version STRING, domain STRING, subfield STRING, `references` STRING, code_files STRING[], code_overview STRING, origin STRING, state STRING,
    incomplete STRING[], source_sha256 STRING, pipeline_version STRING, built_at STRING, cost_usd DOUBLE
);
CREATE NODE TABLE CitedWork (id STRING PRIMARY KEY, title STRING, year INT64, arxiv_id STRING);
CREATE NODE TABLE Technique (
    id STRING PRIMARY KEY, name STRING, aliases STRING[], kind STRING, definition STRING, depth INT64,
    weight DOUBLE, grounding STRING, excerpts STRING
);
CREATE NODE TABLE Code (
    id STRING PRIMARY KEY, name STRING, implementation STRING, test STRING, documentation STRING, language STRING,
    packages STRING[], level STRING, claimed STRING, attested_by STRING[], evidence STRING, claims STRING
);
CREATE NODE TABLE Symbol (
    id STRING PRIMARY KEY, kind STRING, path STRING, qualified_name STRING, start_line INT64, end_line INT64,
    signature STRING
);
CREATE NODE TABLE Repository (
    id STRING PRIMARY KEY, url STRING, `commit` STRING, license STRING, stars INT64, archived BOOLEAN,
    default_branch STRING, is_official BOOLEAN
);
CREATE NODE TABLE Finding (id STRING PRIMARY KEY, name STRING, description STRING);
CREATE NODE TABLE Resource (id STRING PRIMARY KEY, name STRING, description STRING);
CREATE NODE TABLE Ablation (
    id STRING PRIMARY KEY, technique STRING, metric STRING, direction STRING, baseline DOUBLE, value DOUBLE,
    change DOUBLE, low DOUBLE, high DOUBLE, seeds INT64, kind STRING, description STRING, diff STRING,
    `commit` STRING, command STRING, measured_at STRING
);

CREATE REL TABLE PROPOSES (FROM Paper TO Technique, `order` INT64);
CREATE REL TABLE HAS_COMPONENT (FROM Technique TO Technique, `order` INT64);
CREATE REL TABLE IMPLEMENTED_BY (FROM Technique TO Code);
CREATE REL TABLE LOCATED_AT (
    FROM Technique TO Symbol, score DOUBLE, rank INT64, doubtful BOOLEAN, focus STRING[], twins STRING[]
);
CREATE REL TABLE DERIVED_FROM (FROM Code TO Symbol);
CREATE REL TABLE HAS_REPOSITORY (FROM Paper TO Repository);
CREATE REL TABLE DEFINES (FROM Repository TO Symbol);
CREATE REL TABLE CITES (FROM Paper TO Paper, FROM Paper TO CitedWork);
CREATE REL TABLE SAME_CONCEPT (FROM Technique TO Technique, score DOUBLE, how STRING);
CREATE REL TABLE REPORTS (FROM Paper TO Finding);
CREATE REL TABLE RELEASES (FROM Paper TO Resource);
CREATE REL TABLE ABLATED_IN (FROM Technique TO Ablation);
