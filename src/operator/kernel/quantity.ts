const SUFFIXES: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** Returns the number that a Kubernetes quantity stands for, or undefined if it is not a quantity. */
export function parseQuantity(text: string): number | undefined {
  const [, digits, suffix = ''] = /^([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = SUFFIXES[suffix];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** Compares quantities by value, because the API server may write them in another form: `1000m` comes back as `1`. */
export function isSameQuantity(a: string, b: string): boolean {
  const [left, right] = [parseQuantity(a), parseQuantity(b)];
  return (
    left !== undefined && right !== undefined && Math.abs(left - right) <= Math.abs(left) * 1e-9
  );
}

/** Returns cores as Kubernetes writes them: `2`, `500m`. */
export const formatCores = (value: number): string =>
  Number.isInteger(value) ? String(value) : `${Math.round(value * 1000)}m`;

export const formatMebibytes = (value: number): string => `${value}Mi`;
