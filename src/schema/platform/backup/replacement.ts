import { Type, type Static } from 'typebox';
import { buildDateTimeSchema, buildEnumSchema, buildOptionalText } from '../../types.ts';
import { FilledFrom } from './restore-spec.ts';

/*
 * A restore into a deployment that lives. Its data is replaced by that of a backup, on a new volume, and the former
 * volume stays for a while.
 */

/** Days for which the former volume of a database stays. */
export const FORMER_DAYS = 7;

/** How many of them a status names. */
export const MOST_FORMER = 16;

/** Its current step. The agents are stopped in every step after the first. */
const REPLACE_STEPS = ['Checking', 'BackingUp', 'Restoring', 'Returning'] as const;

/** A restore into a living deployment that is under way. */
const Replacement = Type.Object(
  {
    requestedAt: buildDateTimeSchema('The request: spec.database.restore.replaceRequestedAt.'),
    since: buildDateTimeSchema('When this step began.'),
    step: buildEnumSchema(REPLACE_STEPS, {
      description: 'Its current step. The agents are stopped in every step after the first.',
    }),
    backup: buildOptionalText(
      253,
      'The backup that was chosen, as <deployment id>/<name in the catalogue>.',
    ),
    target: buildOptionalText(63, 'The backup target that holds it.'),
    ...FilledFrom,
    former: buildOptionalText(253, 'The volume claim with the data that is replaced.'),
    volume: buildOptionalText(253, 'The volume claim that takes its place.'),
    image: buildOptionalText(
      4096,
      'The image with which the database ran on the former volume, and runs there again if the restore fails.',
    ),
    reason: buildOptionalText(128, 'Why it failed, while the former volume is brought back.'),
    message: buildOptionalText(4096, 'A sentence about the failure.'),
  },
  { description: 'The restore into this deployment that is under way.' },
);
export type Replacement = Static<typeof Replacement>;

export const FormerVolume = Type.Object({
  claim: Type.String({ maxLength: 253, description: 'The volume claim.' }),
  until: buildDateTimeSchema('When it is deleted.'),
});
export type FormerVolume = Static<typeof FormerVolume>;

/** The fields of a deployment's status about restores into it. */
export const replacementStatus = {
  databaseVolume: buildOptionalText(253, 'The volume claim of the database. Unset: the first.'),
  replacement: Type.Optional(Replacement),
  replacedAt: buildOptionalText(
    64,
    'Last value of spec.database.restore.replaceRequestedAt that was handled, successfully or not.',
  ),
  formerVolumes: Type.Optional(
    Type.Array(FormerVolume, {
      maxItems: MOST_FORMER,
      description:
        'Volume claims whose data was replaced. spec.database.restore.volume goes back to one.',
    }),
  ),
};

/** Returns true while agents must not run, because the data of their database is being replaced. */
export const isReplacing = ({
  status,
}: {
  status?: { replacement?: Replacement } | undefined;
}): boolean => status?.replacement !== undefined && status.replacement.step !== 'Checking';
