// One node an id, and what named queries look up. Nodes of xkg's own bookkeeping have labels that begin with `Xkg`.
// Every statement can be run twice, so a migration that was interrupted is run again.

CREATE CONSTRAINT xkg_internal_meta IF NOT EXISTS FOR (n:XkgMeta) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_internal_bundle IF NOT EXISTS FOR (n:XkgBundle) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_internal_decision IF NOT EXISTS FOR (n:XkgDecision) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_internal_lease IF NOT EXISTS FOR (n:XkgLease) REQUIRE n.id IS UNIQUE;

CREATE CONSTRAINT xkg_paper IF NOT EXISTS FOR (n:Paper) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_cited_work IF NOT EXISTS FOR (n:CitedWork) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_technique IF NOT EXISTS FOR (n:Technique) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_code IF NOT EXISTS FOR (n:Code) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_symbol IF NOT EXISTS FOR (n:Symbol) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_repository IF NOT EXISTS FOR (n:Repository) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_finding IF NOT EXISTS FOR (n:Finding) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_resource IF NOT EXISTS FOR (n:Resource) REQUIRE n.id IS UNIQUE;

CREATE INDEX xkg_internal_bundle_generation IF NOT EXISTS FOR (n:XkgBundle) ON (n.generation);
CREATE INDEX xkg_internal_decision_generation IF NOT EXISTS FOR (n:XkgDecision) ON (n.generation);
CREATE INDEX xkg_paper_state IF NOT EXISTS FOR (n:Paper) ON (n.state);
CREATE INDEX xkg_paper_year IF NOT EXISTS FOR (n:Paper) ON (n.year);
CREATE INDEX xkg_code_level IF NOT EXISTS FOR (n:Code) ON (n.level);
CREATE TEXT INDEX xkg_symbol_path IF NOT EXISTS FOR (n:Symbol) ON (n.path);
CREATE CONSTRAINT xkg_ablation IF NOT EXISTS FOR (n:Ablation) REQUIRE n.id IS UNIQUE;
CREATE INDEX xkg_ablation_technique IF NOT EXISTS FOR (n:Ablation) ON (n.technique);
