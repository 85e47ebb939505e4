/**
 * The host of images that no registry has: those on this machine, and those of a release before somebody pushes them.
 * Nobody can own a name below `.invalid` (RFC 6761), so a node that lacks such an image finds none, and never a
 * stranger's.
 */
export const NO_REGISTRY = 'registry.invalid';
