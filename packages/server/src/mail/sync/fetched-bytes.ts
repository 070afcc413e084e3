import type { FetchMessageObject, MessageStructureObject } from 'imapflow';

/** The bytes of a row that are kept, as far as the server chooses their number. */
export function countFetchedBytes(row: FetchMessageObject): number {
  const { source, headers, flags, labels, bodyStructure, bodyParts } = row;
  const words = [...(flags ?? []), ...(labels ?? [])].reduce((sum, word) => sum + word.length, 0);
  const structure = bodyStructure ? countStructure(bodyStructure) : 0;
  const parts = [...(bodyParts?.values() ?? [])].reduce((sum, part) => sum + (part?.length ?? 0), 0);
  return (source?.length ?? 0) + (headers?.length ?? 0) + words + structure + parts;
}

/** What a part takes in memory besides its texts. */
const partBytes = 200;

function countStructure(part: MessageStructureObject): number {
  const { parameters, dispositionParameters, childNodes = [], type, id, description, envelope } = part;
  const texts = [
    type,
    id,
    description,
    ...Object.values({ ...parameters }),
    ...Object.values({ ...dispositionParameters }),
  ];
  const own = texts.reduce((sum, text) => sum + (text?.length ?? 0), envelope ? JSON.stringify(envelope).length : 0);
  return childNodes.reduce((sum, child) => sum + countStructure(child), own + partBytes);
}
