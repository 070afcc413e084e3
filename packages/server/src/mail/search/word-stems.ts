/** Stems of words: forms of one word (`invoice`, `invoices`) share a stem. Stop words of a language tell in which one a text is written. */
import { stemmer as english } from '@orama/stemmers/english';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { LruMap } from '../../base/lru-map.ts';
import type { TextWord } from './text-words.ts';

export type StemLanguage = keyof typeof languages;

interface Language {
  stem(word: string): string;
  /** A shorter stem is shared by words that have nothing in common. */
  readonly minLength: number;
  /** The most frequent words that the other languages do not have. */
  readonly stopWords: ReadonlySet<string>;
}

const toWordSet = (words: string): ReadonlySet<string> => new Set(words.split(' '));

const languages = {
  english: {
    stem: english,
    minLength: 3,
    stopWords: toWordSet(
      'the and of to is you that it for with are this be have not your from we our will has was but they as at or by can his her if their there these were which would its been',
    ),
  },
  german: {
    stem: german,
    minLength: 3,
    stopWords: toWordSet(
      'der das und ist nicht ich sie wir mit den von zu auf fur ein eine im auch dem einen einer bei sich aus wie oder haben wird uns ihnen ihre ihr sind noch nach bitte wenn dass',
    ),
  },
  french: {
    stem: french,
    minLength: 4,
    stopWords: toWordSet(
      'le les et est une vous pour dans nous sur pas avec votre ce je au qui aux sont cette mais ou il ne plus notre vos ont merci par elle ces',
    ),
  },
  spanish: {
    stem: spanish,
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
/** English words that look like plurals and are none. */
const noPlurals = toWordSet('news atlas bias lens series species canvas texas paris christmas');

/** A stem takes some microseconds, and most words of a message were in others before. */
const stemCache = new LruMap<string>({ entries: 20_000, bytes: 4 * 2 ** 20, keyLength: 60, sizeOf: 60 });

const minWordLength = 3;
const maxWordLength = 30;

/** Whether a word is among the most frequent ones of a language: it has no other forms, and nothing begins with it. */
export function isStopWord(word: string): boolean {
  return stopWords.has(word);
}

/**
 * The stems of a word that the index needs, without accents. An English word that is its own stem needs none: the search looks for the
 * word too, which saves a third of the index. In the other languages the word alone would meet words of other languages (`come`, `com`).
 */
export function findIndexStems(word: TextWord, candidates: readonly StemLanguage[]): string[] {
  const stems = stemsByLanguage(word, candidates);
  return stems.filter(([language, stem]) => language !== 'english' || stem !== word.word).map(([, stem]) => stem);
}

/** What finds the forms of a word: its stems in all languages, and words that the index has no stem for. */
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
  // The stemmers know endings by their accents, which many people leave out.
  const spellings = written === word ? [word] : [word, written];
  return candidates.flatMap((each) => spellings.map((form) => [each, computeStem(each, form)] as const));
}

/** The languages in which a text is written; all of them where its words do not tell. */
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
/** Of the language that a text is most written in: then some of it is in this one. */
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
