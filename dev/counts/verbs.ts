/**
 * The verbs that functions begin with. Those of the first list have one meaning each, which CONTRIBUTING.md gives; the
 * others are verbs of the field with the meaning of everyday English.
 */
const DEFINED = `load read fetch get find list choose filter sort group merge split build create parse format encode decode to
  plan decide check validate require compare count sum compute describe explain ensure insert update delete write save
  remove add set put apply patch handle serve answer refuse accept send publish report log record notify wait watch
  follow observe run start stop open close make hide`;

const OF_THE_FIELD = `abort acquire adopt admit advance annotate announce append ask assert attach authenticate authorize backup batch begin bind
  bound bump bundle cache call cancel claim clone collect commit compile complete compress configure connect convert copy
  defer delay demand deploy derive dequeue detach detect diff download drain draw drop embed emit encrypt decrypt end enqueue
  enter clear escape estimate execute expand expect export extend fail finish fold flush focus forward give grow hash hold import
  inject install invoke join keep kill leave limit link listen lock look map mark mask match measure memoize mount move
  note pack parse pass paste pause permit pick pipe prepare press print probe prove prune pull push queue quote
  react receive reconcile redact redeploy refresh register reject release rename render renew repeat replace reseal reserve reset
  resolve respond restart restore resume retry return roll rotate sample scale schedule scroll scrub seal search select
  settle share show shrink shut sign skip sleep spawn stage step store stream strip subscribe summarize sweep take test
  throw toggle touch trace track transform traverse trim try tag type unpack unseal unsubscribe unwrap upload use verify visit
  wake walk wrap`;

const split = (words: string): string[] => words.split(/\s+/);

export const VERBS: ReadonlySet<string> = new Set([...split(DEFINED), ...split(OF_THE_FIELD)]);

/** The words with which a function begins that answers yes or no. */
export const QUESTIONS: ReadonlySet<string> = new Set(['is', 'has', 'can', 'may']);

export const PREPOSITIONS: ReadonlySet<string> = new Set(
  split('of in for at by with to from on without under within after before beside until'),
);

const IRREGULAR_PARTICIPLES: ReadonlySet<string> = new Set(
  split(
    'made built kept given taken heard found seen begun written known held left sent shown lost gone done hidden bound driven',
  ),
);

/** Returns true for a participle or a gerund: the name of a state, and not of an action. */
export const isParticiple = (word: string): boolean =>
  IRREGULAR_PARTICIPLES.has(word) || (!VERBS.has(word) && /.(?:ed|ing)$/.test(word));
