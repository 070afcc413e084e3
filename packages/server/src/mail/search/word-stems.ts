/**
 * Stems of words: forms of one word (`invoice`, `invoices`) share a stem. The stop words in a text show its language.
 */
import { loadLater } from '../../base/load-later.ts';
import { LruMap } from '../../base/lru-map.ts';
import type { TextWord } from './text-words.ts';

export type StemLanguage = keyof typeof languages;

interface Language {
  stem(word: string): string;
  /** Shorter stems are shared by unrelated words. */
  readonly minLength: number;
  /** The most frequent words of each language that the other languages do not have. */
  readonly stopWords: ReadonlySet<string>;
}

type Stemmer = typeof import('@orama/stemmers/english');
const loadEnglish = loadLater<Stemmer>('@orama/stemmers/english');
const loadFrench = loadLater<Stemmer>('@orama/stemmers/french');
const loadGerman = loadLater<Stemmer>('@orama/stemmers/german');
const loadSpanish = loadLater<Stemmer>('@orama/stemmers/spanish');

const toWordSet = (words: string): ReadonlySet<string> => new Set(words.split(' '));

const languages = {
  english: {
    stem: (word) => loadEnglish().stemmer(word),
    minLength: 3,
    stopWords: toWordSet(
      'the and of to is you that it for with are this be have not your from we our will has was but they as at or by can his her if their there these were which would its been',
    ),
  },
  german: {
    stem: (word) => loadGerman().stemmer(word),
    minLength: 3,
    stopWords: toWordSet(
      'der das und ist nicht ich sie wir mit den von zu auf fur ein eine im auch dem einen einer bei sich aus wie oder haben wird uns ihnen ihre ihr sind noch nach bitte wenn dass',
    ),
  },
  french: {
    stem: (word) => loadFrench().stemmer(word),
    minLength: 4,
    stopWords: toWordSet(
      'le les et est une vous pour dans nous sur pas avec votre ce je au qui aux sont cette mais ou il ne plus notre vos ont merci par elle ces',
    ),
  },
  spanish: {
    stem: (word) => loadSpanish().stemmer(word),
    minLength: 4,
    stopWords: toWordSet(
      'el los las una para con por su del lo como que pero sus al esta este ha usted gracias y nos muy sin tambien hay ser estan ya hola',
    ),
  },
} as const satisfies Readonly<Record<string, Language>>;

export const stemLanguages = Object.keys(languages) as readonly StemLanguage[];

const stopWords: ReadonlyMap<string, StemLanguage> = new Map(
  stemLanguages.flatMap((each) => [...languages[each].stopWords].map((word) => [word, each] as const)),
);
/** English words that look like plurals but are not. */
const noPlurals = toWordSet('news atlas bias lens series species canvas texas paris christmas');

/** Computing a stem takes some microseconds, and most words of a message also occur in other messages. */
const stemCache = new LruMap<string>({ entries: 20_000, bytes: 4 * 2 ** 20, keyLength: 60, sizeOf: 60 });

const minWordLength = 3;
const maxWordLength = 30;

/**
 * Whether a word is among the most frequent ones of a language. Such a word has no other forms and is not searched as a
 * prefix.
 */
export function isStopWord(word: string): boolean {
  return stopWords.has(word);
}

/**
 * The stems of a word that are stored in the index, without accents. An English word that is its own stem is not stored
 * again, because a search also looks for the word itself; this saves a third of the index. In other languages the word
 * itself could also match words of another language (`come`, `com`).
 */
export function findIndexStems(word: TextWord, candidates: readonly StemLanguage[]): string[] {
  const stems = stemsByLanguage(word, candidates);
  return stems.filter(([language, stem]) => language !== 'english' || stem !== word.word).map(([, stem]) => stem);
}

/** The tokens that find all forms of a word: its stems in all languages, and words for which the index has no stem. */
export function findSearchStems(word: TextWord): {
  readonly stems: readonly string[];
  readonly words: readonly string[];
} {
  const stems = stemsByLanguage(word, stemLanguages);
  const words = stems
    .filter(([language, stem]) => language === 'english' && stem !== word.word && isOwnStem(stem))
    .map(([, stem]) => stem);
  return { stems: [...new Set(stems.map(([, stem]) => stem))], words: [...new Set(words)] };
}

function isOwnStem(stem: string): boolean {
  return !stopWords.has(stem) && computeStem('english', stem) === stem;
}

function stemsByLanguage(
  { word, written, isCjk }: TextWord,
  candidates: readonly StemLanguage[],
): (readonly [StemLanguage, string])[] {
  if (isCjk || !hasForms(word)) return [];
  // The stemmers recognise endings by their accents, which many people omit.
  const spellings = written === word ? [word] : [word, written];
  return candidates.flatMap((each) => spellings.map((form) => [each, computeStem(each, form)] as const));
}

/** The languages of a text; all of them if its words do not show it. */
export function detectLanguages(words: readonly TextWord[]): readonly StemLanguage[] {
  const counts = new Map<StemLanguage, number>(stemLanguages.map((each) => [each, 0]));
  for (const { word } of words) {
    const language = stopWords.get(word);
    if (language !== undefined) counts.set(language, (counts.get(language) ?? 0) + 1);
  }
  const maxCount = Math.max(...counts.values());
  if (maxCount < minStopWords) return stemLanguages;
  return stemLanguages.filter((each) => (counts.get(each) ?? 0) >= maxCount * minShare);
}

const minStopWords = 3;
/** The share of the most frequent language from which another language also counts. */
const minShare = 0.2;

function hasForms(word: string): boolean {
  return word.length >= minWordLength && word.length <= maxWordLength && /^[a-z]+$/.test(word) && !stopWords.has(word);
}

/** Without accents. */
function computeStem(language: StemLanguage, word: string): string {
  if (noPlurals.has(word)) return word;
  const key = `${language} ${word}`;
  const cached = stemCache.get(key);
  if (cached !== undefined) return cached;
  const { stem, minLength } = languages[language];
  const stemmed = stem(word);
  const shorter = word.endsWith('s') && word.length > minLength ? word.slice(0, -1) : word;
  const result = withoutAccents(stemmed.length >= minLength ? stemmed : shorter);
  stemCache.set(key, result);
  return result;
}

function withoutAccents(stem: string): string {
  if (/^[a-z]*$/.test(stem)) return stem;
  const plain = stem.normalize('NFKD').replaceAll(/\p{M}+/gu, '');
  return plain.replaceAll('ß', 'ss');
}
