/** A value of a query; a list gives its name several times. */
export type QueryValue = string | number | boolean | readonly string[] | undefined;
export type ApiRequest = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  query?: Record<string, QueryValue>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};
