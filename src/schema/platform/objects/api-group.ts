/* The API group of the platform's custom resources. */

export const GROUP = 'gx.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;
