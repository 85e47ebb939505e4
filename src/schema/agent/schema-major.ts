/**
 * The major version of the agents' schema. Schemas of one major version only grow, so a server works on any newer one
 * of its own major version, and on no other.
 */
export const SCHEMA_MAJOR = 1;
