/** The official package, which takes megabytes: it is loaded when the first client comes. */
export type McpPackage = typeof import('@modelcontextprotocol/server');

export const loadPackage = (): Promise<McpPackage> => import('@modelcontextprotocol/server');
