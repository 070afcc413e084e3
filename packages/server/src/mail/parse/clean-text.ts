/** Control characters of ASCII except tab and line end. */
const controls = /[\p{Cc}--[\t\n\u0080-\u009f]]/gv;
const allControls = /[\p{Cc}\u2028\u2029]+/gu;
/** Marks that change the direction of text, so that `gpj.exe` is displayed as `exe.jpg`. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

/**
 * Text of several lines that both engines can store: no control characters except tab and line end, no lone surrogates.
 */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(controls, '').toWellFormed();
}

/** Text on one line. Control characters and line ends become a space. */
export function cleanLine(text: string): string {
  return text.replace(allControls, ' ').trim().toWellFormed();
}

/** Text on one line that is displayed as a name, without direction marks. */
export function cleanName(text: string): string {
  return cleanLine(text.replace(directionMarks, ''));
}

/** Truncates text to a number of code units, without splitting a character. */
export function truncateText(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
