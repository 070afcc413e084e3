/** Those of ASCII, but for tab and line end. */
const controls = /[\p{Cc}--[\t\n\u0080-\u009f]]/gv;
const allControls = /[\p{Cc}\u2028\u2029]+/gu;
/** Marks that turn the direction of what follows: `gpj.exe` read as `exe.jpg`. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

/** Text of several lines as both engines keep it: no NUL or other control character but tab and line end, no half of a surrogate pair. */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(controls, '').toWellFormed();
}

/** One line: control characters and line ends become a space. */
export function cleanLine(text: string): string {
  return text.replace(allControls, ' ').trim().toWellFormed();
}

/** One line that is shown as somebody's or something's name: without marks of direction too. */
export function cleanName(text: string): string {
  return cleanLine(text.replace(directionMarks, ''));
}

/** At most so many code units, and never half of a character. */
export function truncateText(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
