/** The parts of a workbook other than its rows (ECMA-376, part 1). */
import { escapeXml, maxScale, styles } from './xlsx-cells.ts';

/** Columns that a sheet can have. */
export const maxSheetColumns = 16_384;

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const contentTypes = 'http://schemas.openxmlformats.org/package/2006/content-types';
const sheetMl = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
const properties = 'http://schemas.openxmlformats.org/officeDocument/2006/extended-properties';
const propertiesPath = 'docProps/app.xml';
const propertiesType = 'application/vnd.openxmlformats-officedocument.extended-properties+xml';
/** The name by which an import recognises a workbook that no other program has saved since. */
export const workbookProgram = 'Tablinum';
const maxNameLength = 31;

/** The path of a worksheet in the file. @param number from 1. */
export function sheetPath(number: number): string {
  return `xl/worksheets/sheet${number}.xml`;
}

/** The beginning of a worksheet up to its rows. Its first row stays visible. @param widths in characters. */
export function writeSheetStart(widths: readonly number[]): string {
  const columns = widths.map((width, index) => {
    const number = index + 1;
    return `<col min="${number}" max="${number}" width="${width}" customWidth="1"/>`;
  });
  const pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>';
  const view = `<sheetViews><sheetView workbookViewId="0">${pane}</sheetView></sheetViews>`;
  return `${declaration}<worksheet xmlns="${main}">${view}<cols>${columns.join('')}</cols><sheetData>`;
}

export const sheetEnd = '</sheetData></worksheet>';

/** The parts that are written after the worksheets, by their paths. */
export function writeWorkbookParts(title: string, sheetCount: number): Readonly<Record<string, string>> {
  const numbers = Array.from({ length: sheetCount }, (_, index) => index + 1);
  const sheets = numbers.map(
    (number) => `<sheet name="${escapeXml(buildSheetName(title, number))}" sheetId="${number}" r:id="rId${number}"/>`,
  );
  const targets = [
    ...numbers.map((number) => writeRelation(`rId${number}`, 'worksheet', `worksheets/sheet${number}.xml`)),
    writeRelation('rIdStyles', 'styles', 'styles.xml'),
  ];
  const overrides = [
    writeOverride('xl/workbook.xml', 'sheet.main'),
    writeOverride('xl/styles.xml', 'styles'),
    `<Override PartName="/${propertiesPath}" ContentType="${propertiesType}"/>`,
    ...numbers.map((number) => writeOverride(sheetPath(number), 'worksheet')),
  ];
  const defaults =
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>';
  return {
    'xl/workbook.xml': `${declaration}<workbook xmlns="${main}" xmlns:r="${relations}"><sheets>${sheets.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${declaration}<Relationships xmlns="${packageRelations}">${targets.join('')}</Relationships>`,
    'xl/styles.xml': declaration + writeStyles(),
    '_rels/.rels': `${declaration}<Relationships xmlns="${packageRelations}">${writeRelation('rId1', 'officeDocument', 'xl/workbook.xml')}${writeRelation('rId2', 'extended-properties', propertiesPath)}</Relationships>`,
    [propertiesPath]: `${declaration}<Properties xmlns="${properties}"><Application>${workbookProgram}</Application></Properties>`,
    '[Content_Types].xml': `${declaration}<Types xmlns="${contentTypes}">${defaults}${overrides.join('')}</Types>`,
  };
}

function writeRelation(id: string, kind: string, target: string): string {
  return `<Relationship Id="${id}" Type="${relations}/${kind}" Target="${target}"/>`;
}

function writeOverride(path: string, kind: string): string {
  return `<Override PartName="/${path}" ContentType="${sheetMl}.${kind}+xml"/>`;
}

/** A valid and unique name: at most 31 characters, without some signs, and never the reserved name `History`. */
function buildSheetName(title: string, number: number): string {
  const suffix = number === 1 ? '' : ` (${number})`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are not allowed in names of sheets.
  const plain = title.replace(/[\u0000-\u001F[\]:*?/\\]/g, ' ').replace(/^[\s']+|[\s']+$/g, '');
  const name = plain
    .slice(0, maxNameLength - suffix.length)
    .replace(/[\uD800-\uDBFF]$/, '')
    .trim();
  const isUsable = name !== '' && !/^history$/i.test(name) && !name.endsWith("'");
  return (isUsable ? name : 'Records') + suffix;
}

/** The cell formats in the order of {@link styles}. */
function writeStyles(): string {
  const [dates, times, dateTimes, firstDecimal] = [164, 165, 166, 167];
  const scales = Array.from({ length: maxScale + 1 }, (_, scale) => scale);
  const formats = [
    writeFormat(dates, 'yyyy\\-mm\\-dd'),
    writeFormat(times, 'hh:mm:ss'),
    writeFormat(dateTimes, 'yyyy\\-mm\\-dd hh:mm:ss'),
    ...scales.map((scale) => writeFormat(firstDecimal + scale, scale === 0 ? '0' : `0.${'0'.repeat(scale)}`)),
  ];
  const plain = { font: 0, format: 0 };
  const cells: { font: number; format: number }[] = [plain];
  const asText = 49; // built in: what is typed into the cell stays text
  cells[styles.header] = { font: 1, format: asText };
  cells[styles.text] = { font: 0, format: asText };
  cells[styles.integer] = { font: 0, format: 1 };
  cells[styles.date] = { font: 0, format: dates };
  cells[styles.datetime] = { font: 0, format: dateTimes };
  cells[styles.time] = { font: 0, format: times };
  for (const scale of scales) cells[styles.decimals + scale] = { font: 0, format: firstDecimal + scale };
  const xfs = cells.map(
    ({ font, format }) =>
      `<xf numFmtId="${format}" fontId="${font}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>`,
  );
  const font = '<sz val="11"/><name val="Calibri"/>';
  return [
    `<styleSheet xmlns="${main}">`,
    `<numFmts count="${formats.length}">${formats.join('')}</numFmts>`,
    `<fonts count="2"><font>${font}</font><font><b/>${font}</font></fonts>`,
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>',
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>',
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>',
    `<cellXfs count="${xfs.length}">${xfs.join('')}</cellXfs>`,
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>',
    '</styleSheet>',
  ].join('');
}

function writeFormat(id: number, code: string): string {
  return `<numFmt numFmtId="${id}" formatCode="${code}"/>`;
}
