// Bookkeeping beside the graph: the look-up of names.

CREATE INDEX xkg_name_key IF NOT EXISTS FOR (n:Name) ON (n.key);
CREATE INDEX xkg_name_paper IF NOT EXISTS FOR (n:Name) ON (n.paper);
