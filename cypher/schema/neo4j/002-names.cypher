// Bookkeeping beside the graph: the look-up of names.

CREATE INDEX xkg_internal_name_key IF NOT EXISTS FOR (n:XkgName) ON (n.key);
CREATE INDEX xkg_internal_name_paper IF NOT EXISTS FOR (n:XkgName) ON (n.paper);
