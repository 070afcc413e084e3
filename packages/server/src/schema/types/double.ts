import { fieldType } from '../field-type.ts';
import { floatType } from './float.ts';

/** The same as float: both have 64 bits. */
export const doubleType = fieldType({ ...floatType, name: 'double' });
