// Measured importance of techniques, kept when a paper is replaced.

CREATE CONSTRAINT xkg_ablation IF NOT EXISTS FOR (n:Ablation) REQUIRE n.id IS UNIQUE;

CREATE INDEX xkg_ablation_technique IF NOT EXISTS FOR (n:Ablation) ON (n.technique);
