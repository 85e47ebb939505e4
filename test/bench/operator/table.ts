/** Prints each measurement on one line, with its goal where there is one. */
export class Table {
  readonly #rows: string[] = [];
  #missed = 0;

  row(what: string, value: string, goal?: { says: string; met: boolean }): void {
    const verdict = goal === undefined ? '' : `${goal.says}: ${goal.met ? 'met' : 'MISSED'}`;
    if (goal?.met === false) this.#missed += 1;
    this.#rows.push(`${what.padEnd(58)} ${value.padStart(22)}   ${verdict}`.trimEnd());
  }

  title(text: string): void {
    this.#rows.push('', text);
  }

  get missed(): number {
    return this.#missed;
  }

  toString(): string {
    return `${this.#rows.join('\n')}\n`;
  }
}

export const quantile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? Number.NaN;

export const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
export const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`;
