// For graphs of schema 2 and 3: the indexes of the new labels in place of those of the old.

DROP CONSTRAINT xkg_meta IF EXISTS;
DROP CONSTRAINT xkg_bundle IF EXISTS;
DROP CONSTRAINT xkg_decision IF EXISTS;
DROP INDEX xkg_bundle_generation IF EXISTS;
DROP INDEX xkg_decision_generation IF EXISTS;
DROP INDEX xkg_name_key IF EXISTS;
DROP INDEX xkg_name_paper IF EXISTS;

CREATE CONSTRAINT xkg_internal_meta IF NOT EXISTS FOR (n:XkgMeta) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_internal_bundle IF NOT EXISTS FOR (n:XkgBundle) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_internal_decision IF NOT EXISTS FOR (n:XkgDecision) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_internal_lease IF NOT EXISTS FOR (n:XkgLease) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT xkg_cited_work IF NOT EXISTS FOR (n:CitedWork) REQUIRE n.id IS UNIQUE;
CREATE INDEX xkg_internal_bundle_generation IF NOT EXISTS FOR (n:XkgBundle) ON (n.generation);
CREATE INDEX xkg_internal_decision_generation IF NOT EXISTS FOR (n:XkgDecision) ON (n.generation);
CREATE INDEX xkg_internal_name_key IF NOT EXISTS FOR (n:XkgName) ON (n.key);
CREATE INDEX xkg_internal_name_paper IF NOT EXISTS FOR (n:XkgName) ON (n.paper);
