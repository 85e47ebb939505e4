/*
 * The request to move a rollout by share, as the annotation of the revision has it (ROLLOUT in labels.ts).
 */

/** A share in percent, or the end of the rollout. */
export type RolloutMove = 'promote' | 'abort' | number;

/** Returns the move that the annotation asks for. Undefined: nothing, or in other words. */
export function parseRolloutMove(text: string | undefined): RolloutMove | undefined {
  if (text === 'promote' || text === 'abort') return text;
  const share = /^share=([0-9]{1,3})$/.exec(text ?? '')?.[1];
  return share !== undefined && Number(share) >= 1 && Number(share) <= 100
    ? Number(share)
    : undefined;
}

/** Returns the annotation that asks for it. */
export const moveText = (move: RolloutMove): string =>
  typeof move === 'number' ? `share=${move}` : move;
