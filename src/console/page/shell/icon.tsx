import { ICON_PATHS, type IconName } from './icons.ts';

/** A sign beside a word, which screen readers pass over. `turns`: for work that is under way. */
export const Icon = ({ name, turns = false }: { name: IconName; turns?: boolean }) => (
  <svg class={turns ? 'icon turns' : 'icon'} viewBox="0 0 24 24" aria-hidden="true">
    <path d={ICON_PATHS[name]} />
  </svg>
);
