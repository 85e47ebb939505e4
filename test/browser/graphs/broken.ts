/** A graph that can't be loaded. */
export const broken = stove();

function stove(): never {
  throw new Error('There is no stove.');
}
