import { useStudio } from './studio-parts.ts';
import { ThreadShown } from './thread.tsx';
import { Threads } from './threads.tsx';

const SECTIONS = { threads: 'Threads' } as const;
type Section = keyof typeof SECTIONS;

const isSection = (part: string): part is Section => Object.hasOwn(SECTIONS, part);

/** The studio of an agent: its sections, or one of its threads. */
export function StudioFrame() {
  const { part, href } = useStudio();
  const section = part === '' ? 'threads' : part;
  return (
    <div class="studio">
      <nav class="sections" aria-label="Parts of the studio">
        {Object.entries(SECTIONS).map(([name, label]) => (
          <a key={name} href={href(name)} aria-current={name === section ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {isSection(section) ? <Threads /> : <ThreadShown key={section} thread={section} />}
    </div>
  );
}
