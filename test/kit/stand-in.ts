/**
 * Returns a stand-in of which a test gives only what the tested function reads, so that functions of src take whole
 * values. Everything else is undefined.
 */
export const buildStandIn = <T extends object>(parts: Partial<NoInfer<T>>): T => parts as T;
