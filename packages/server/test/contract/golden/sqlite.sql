-- get by key
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}'),"albums_N"._v FROM "albums_N" WHERE "albums_N"."id_N"=?

-- get by filter
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}'),"albums_N"._v FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."title_N"=?) ORDER BY "albums_N"."id_N" LIMIT 1

-- list without count
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 21)

-- list with count
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND (("albums_N"."title_N"=?) IS NOT TRUE)) ORDER BY "albums_N"."id_N" LIMIT 21)

-- list with estimate
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."id_N">?) ORDER BY "albums_N"."id_N" LIMIT 21)

-- list that hides its key
SELECT json_object('title',"albums_N"."title_N") AS j,"albums_N"."id_N" FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 21

-- list with versions
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j,"albums_N"."id_N","albums_N"._v FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 21

-- second page by offset
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM (SELECT * FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 2 OFFSET ?) "albums_N")

-- far page by offset
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE "albums_N"."id_N" IN (SELECT "albums_N"."id_N" FROM "albums_N" ORDER BY "albums_N"."id_N"
LIMIT 2 OFFSET ?)
ORDER BY "albums_N"."id_N" LIMIT 2)

-- filter through to-one
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."id_N" IS NOT NULL AND "t1"."name_N"=?))) ORDER BY "albums_N"."id_N" LIMIT 21)

-- filter through to-many
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"artists_N"."id_N",'name',"artists_N"."name_N",'createdAt',"artists_N"."createdat_N",'updatedAt',"artists_N"."updatedat_N") AS j FROM "artists_N" WHERE (("artists_N".rowid*2654435761>>16&1023 OR _tick()) AND "artists_N"."id_N" IN (SELECT "t1"."artistsid_N" FROM "albums_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."artistsid_N" IS NOT NULL AND CASE WHEN ? AND octet_length("t1"."title_N")<4096 THEN "t1"."title_N" LIKE ?
WHEN octet_length("t1"."title_N")>=65536 THEN instr(_fold("t1"."title_N"),?)>0
WHEN ? THEN instr(lower("t1"."title_N"),?)>0
WHEN octet_length("t1"."title_N")=length("t1"."title_N") THEN iif(? AND octet_length("t1"."title_N")<4096,"t1"."title_N" LIKE ?,instr(lower("t1"."title_N"),?)>0)
WHEN ? THEN instr(replace(replace(lower("t1"."title_N"),'K','k'),'İ','i̇'),?)>0
ELSE instr(_fold("t1"."title_N"),?)>0 END))) ORDER BY "artists_N"."id_N" LIMIT 21)

-- filter of lists and logic
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND ("albums_N"."id_N" IN (SELECT value FROM json_each(?)) OR (((iif(octet_length("albums_N"."title_N")>=4096,_tick(),1) AND "albums_N"."title_N" GLOB ?)) IS NOT TRUE))) ORDER BY "albums_N"."id_N" LIMIT 21)

-- sort through to-one
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j,(SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N"),"albums_N"."id_N" FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY (SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N") DESC NULLS LAST,"albums_N"."id_N" DESC LIMIT 21

-- appends two levels deep
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"artists_N"."id_N",'name',"artists_N"."name_N",'createdAt',"artists_N"."createdat_N",'updatedAt',"artists_N"."updatedat_N"),'{}'),',','"albums":',(SELECT concat('[',CASE WHEN count(*)>1000 THEN _overflow('albums') ELSE group_concat(j,',') END,']')
FROM (SELECT concat('{',trim(json_object('id',"t1"."id_N",'title',"t1"."title_N",'released',"t1"."released_N",'live',iif("t1"."live_N" IS NULL,NULL,json(iif("t1"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("t1"."notes_N",'null'),',','"words":',ifnull("t1"."words_N",'null'),',',trim(json_object('artistId',"t1"."artistid_N",'artistsId',"t1"."artistsid_N"),'{}'),',','"artist":',ifnull((SELECT json_object('id',"t2"."id_N",'name',"t2"."name_N",'createdAt',"t2"."createdat_N",'updatedAt',"t2"."updatedat_N") FROM "artists_N" "t2" WHERE "t2"."id_N"="t1"."artistid_N"),'null'),'}') AS j FROM "albums_N" "t1" WHERE "t1"."artistsid_N"="artists_N"."id_N" AND ("t1".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "t1"."id_N" LIMIT 1001)),'}') AS j FROM "artists_N" WHERE ("artists_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "artists_N"."id_N" LIMIT 21)

-- list of a relation
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."artistsid_N"=(SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE "t1"."id_N"=?)) ORDER BY "albums_N"."id_N" LIMIT 21)

-- get of a relation
SELECT json_object('id',"artists_N"."id_N",'name',"artists_N"."name_N",'createdAt',"artists_N"."createdat_N",'updatedAt',"artists_N"."updatedat_N"),"artists_N"._v FROM "artists_N" WHERE (("artists_N".rowid*2654435761>>16&1023 OR _tick()) AND "artists_N"."id_N"=(SELECT "t1"."artistid_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=?)) ORDER BY "artists_N"."id_N" LIMIT 1

-- list of a many-to-many relation
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"tags_N"."id_N",'name',"tags_N"."name_N",'deletedAt',"tags_N"."deletedat_N") AS j FROM "tags_N" WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND ("tags_N"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"=(SELECT "t1"."id_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=?)) AND "tags_N"."deletedat_N" IS NULL)) ORDER BY "tags_N"."id_N" LIMIT 21)

-- search
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND CASE WHEN ? AND octet_length("albums_N"."title_N")<4096 THEN "albums_N"."title_N" LIKE ?
WHEN octet_length("albums_N"."title_N")>=65536 THEN instr(_fold("albums_N"."title_N"),?)>0
WHEN ? THEN instr(lower("albums_N"."title_N"),?)>0
WHEN octet_length("albums_N"."title_N")=length("albums_N"."title_N") THEN iif(? AND octet_length("albums_N"."title_N")<4096,"albums_N"."title_N" LIKE ?,instr(lower("albums_N"."title_N"),?)>0)
WHEN ? THEN instr(replace(replace(lower("albums_N"."title_N"),'K','k'),'İ','i̇'),?)>0
ELSE instr(_fold("albums_N"."title_N"),?)>0 END) ORDER BY "albums_N"."id_N" LIMIT 21)

-- search with an index, in the order of keys
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"letters_N"."id_N",'text',"letters_N"."text_N",'day',"letters_N"."day_N") AS j FROM "letters_N" WHERE "letters_N"."id_N" IN (SELECT id FROM (SELECT r."id_N" AS id FROM (SELECT rowid AS id FROM "_sxN" WHERE "_sxN" MATCH ? AND ("_sxN".rowid*2654435761>>16&1023 OR _tick()) ORDER BY 1 DESC LIMIT -1) m
CROSS JOIN "letters_N" r ON "r".rowid=m.id WHERE (("r".rowid*2654435761>>16&1023 OR _tick()) AND CASE WHEN ? AND octet_length("r"."text_N")<4096 THEN "r"."text_N" LIKE ?
WHEN octet_length("r"."text_N")>=65536 THEN instr(_fold("r"."text_N"),?)>0
WHEN ? THEN instr(lower("r"."text_N"),?)>0
WHEN octet_length("r"."text_N")=length("r"."text_N") THEN iif(? AND octet_length("r"."text_N")<4096,"r"."text_N" LIKE ?,instr(lower("r"."text_N"),?)>0)
WHEN ? THEN instr(replace(replace(lower("r"."text_N"),'K','k'),'İ','i̇'),?)>0
ELSE instr(_fold("r"."text_N"),?)>0 END) LIMIT CASE WHEN ? THEN 21 ELSE 0 END) UNION ALL SELECT id FROM (SELECT "letters_N"."id_N" AS id FROM "letters_N" WHERE (("letters_N".rowid*2654435761>>16&1023 OR _tick()) AND CASE WHEN ? AND octet_length("letters_N"."text_N")<4096 THEN "letters_N"."text_N" LIKE ?
WHEN octet_length("letters_N"."text_N")>=65536 THEN instr(_fold("letters_N"."text_N"),?)>0
WHEN ? THEN instr(lower("letters_N"."text_N"),?)>0
WHEN octet_length("letters_N"."text_N")=length("letters_N"."text_N") THEN iif(? AND octet_length("letters_N"."text_N")<4096,"letters_N"."text_N" LIKE ?,instr(lower("letters_N"."text_N"),?)>0)
WHEN ? THEN instr(replace(replace(lower("letters_N"."text_N"),'K','k'),'İ','i̇'),?)>0
ELSE instr(_fold("letters_N"."text_N"),?)>0 END) ORDER BY "letters_N"."id_N" DESC LIMIT CASE WHEN ? THEN 0 ELSE 21 END))
ORDER BY "letters_N"."id_N" DESC LIMIT 21)

-- search with an index, in another order
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"letters_N"."id_N",'text',"letters_N"."text_N",'day',"letters_N"."day_N") AS j FROM "letters_N" WHERE "letters_N"."id_N" IN (WITH few AS MATERIALIZED (SELECT id FROM (SELECT rowid AS id FROM "_sxN" WHERE "_sxN" MATCH ? AND ("_sxN".rowid*2654435761>>16&1023 OR _tick()) LIMIT 5001))
SELECT id FROM (SELECT r."id_N" AS id FROM (SELECT DISTINCT id FROM few) m
CROSS JOIN "letters_N" r ON "r".rowid=m.id WHERE (("r".rowid*2654435761>>16&1023 OR _tick()) AND (iif(octet_length("r"."text_N")>=4096,_tick(),1) AND "r"."text_N" GLOB ?))
ORDER BY "r"."day_N" NULLS LAST,"r"."id_N" LIMIT CASE WHEN (? AND (SELECT count(*) FROM few)<=5000) THEN 21 ELSE 0 END) UNION ALL SELECT id FROM (SELECT "letters_N"."id_N" AS id FROM "letters_N" WHERE (("letters_N".rowid*2654435761>>16&1023 OR _tick()) AND (iif(octet_length("letters_N"."text_N")>=4096,_tick(),1) AND "letters_N"."text_N" GLOB ?)) ORDER BY "letters_N"."day_N" NULLS LAST,"letters_N"."id_N" LIMIT CASE WHEN (? AND (SELECT count(*) FROM few)<=5000) THEN 0 ELSE 21 END))
ORDER BY "letters_N"."day_N" NULLS LAST,"letters_N"."id_N" LIMIT 21)

-- next page of a search with an index
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"letters_N"."id_N",'text',"letters_N"."text_N",'day',"letters_N"."day_N") AS j FROM "letters_N" WHERE "letters_N"."id_N" IN (SELECT id FROM (SELECT r."id_N" AS id FROM (SELECT rowid AS id FROM "_sxN" WHERE "_sxN" MATCH ? AND ("_sxN".rowid*2654435761>>16&1023 OR _tick()) ORDER BY 1 LIMIT -1) m
CROSS JOIN "letters_N" r ON "r".rowid=m.id WHERE (("r".rowid*2654435761>>16&1023 OR _tick()) AND CASE WHEN ? AND octet_length("r"."text_N")<4096 THEN "r"."text_N" LIKE ?
WHEN octet_length("r"."text_N")>=65536 THEN instr(_fold("r"."text_N"),?)>0
WHEN ? THEN instr(lower("r"."text_N"),?)>0
WHEN octet_length("r"."text_N")=length("r"."text_N") THEN iif(? AND octet_length("r"."text_N")<4096,"r"."text_N" LIKE ?,instr(lower("r"."text_N"),?)>0)
WHEN ? THEN instr(replace(replace(lower("r"."text_N"),'K','k'),'İ','i̇'),?)>0
ELSE instr(_fold("r"."text_N"),?)>0 END) LIMIT CASE WHEN ? THEN 2 ELSE 0 END OFFSET ?) UNION ALL SELECT id FROM (SELECT "letters_N"."id_N" AS id FROM (SELECT * FROM "letters_N" WHERE (("letters_N".rowid*2654435761>>16&1023 OR _tick()) AND CASE WHEN ? AND octet_length("letters_N"."text_N")<4096 THEN "letters_N"."text_N" LIKE ?
WHEN octet_length("letters_N"."text_N")>=65536 THEN instr(_fold("letters_N"."text_N"),?)>0
WHEN ? THEN instr(lower("letters_N"."text_N"),?)>0
WHEN octet_length("letters_N"."text_N")=length("letters_N"."text_N") THEN iif(? AND octet_length("letters_N"."text_N")<4096,"letters_N"."text_N" LIKE ?,instr(lower("letters_N"."text_N"),?)>0)
WHEN ? THEN instr(replace(replace(lower("letters_N"."text_N"),'K','k'),'İ','i̇'),?)>0
ELSE instr(_fold("letters_N"."text_N"),?)>0 END) ORDER BY "letters_N"."id_N" LIMIT CASE WHEN ? THEN 0 ELSE 2 END OFFSET ?) "letters_N"))
ORDER BY "letters_N"."id_N" LIMIT 2)

-- descending order of an indexed field that may be null
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"letters_N"."id_N",'text',"letters_N"."text_N",'day',"letters_N"."day_N") AS j FROM "letters_N" WHERE ("letters_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "letters_N"."day_N" DESC NULLS LAST,"letters_N"."id_N" DESC LIMIT 21)

-- filter by period
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND ("albums_N"."released_N">=? AND "albums_N"."released_N"<?)) ORDER BY "albums_N"."id_N" LIMIT 21)

-- filter of list elements
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND ("albums_N"."words_N" IS NOT NULL AND ("albums_N"."words_N" IS NOT NULL)=1 AND (instr("albums_N"."words_N",?)>0 OR instr("albums_N"."words_N",'\')>0) AND _any_element("albums_N"."words_N",?)=1)) ORDER BY "albums_N"."id_N" LIMIT 21)

-- list beside a trash
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"tags_N"."id_N",'name',"tags_N"."name_N",'deletedAt',"tags_N"."deletedat_N") AS j FROM "tags_N" WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND "tags_N"."deletedat_N" IS NULL) ORDER BY "tags_N"."id_N" LIMIT 21)

-- list of a trash
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"tags_N"."id_N",'name',"tags_N"."name_N",'deletedAt',"tags_N"."deletedat_N") AS j FROM "tags_N" WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND (("tags_N"."deletedat_N" IS NULL) IS NOT TRUE)) ORDER BY "tags_N"."id_N" LIMIT 21)

-- append beside a trash
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),',','"tags":',(SELECT concat('[',CASE WHEN count(*)>1000 THEN _overflow('tags') ELSE group_concat(j,',') END,']')
FROM (SELECT json_object('id',"t1"."id_N",'name',"t1"."name_N",'deletedAt',"t1"."deletedat_N") AS j FROM "tags_N" "t1" WHERE ("t1"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"="albums_N"."id_N") AND "t1"."deletedat_N" IS NULL) AND ("t1".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "t1"."id_N" LIMIT 1001)),'}') AS j FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 21)

-- query
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('artist.name',g."c0",'released',g."c1",'count',iif(g."c2" BETWEEN -9007199254740991 AND 9007199254740991,g."c2",CAST(g."c2" AS TEXT)),'max_id',g."c3") AS j FROM (SELECT (SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N") AS "c0",_date_text("albums_N"."released_N",'YYYY-MM',?) AS "c1",count(*) AS "c2",max("albums_N"."id_N") AS "c3" FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND (("albums_N"."title_N"=?) IS NOT TRUE)) GROUP BY 1,2) g WHERE "g"."c2"<? ORDER BY g."c0" NULLS LAST,g."c1" NULLS LAST LIMIT 1000)

-- restricted query
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('count',iif(g."c0" BETWEEN -9007199254740991 AND 9007199254740991,g."c0",CAST(g."c0" AS TEXT))) AS j FROM (SELECT count(*) AS "c0" FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."id_N" IS NOT NULL AND "t1"."name_N"=?)))) g LIMIT 1000)

-- restricted list
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'artistId',"albums_N"."artistid_N") AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."id_N" IS NOT NULL AND "t1"."name_N"=?))) ORDER BY "albums_N"."id_N" LIMIT 21)

-- restricted get
SELECT json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'artistId',"albums_N"."artistid_N"),"albums_N"._v FROM "albums_N" WHERE ("albums_N"."id_N"=? AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."id_N" IS NOT NULL AND "t1"."name_N"=?)))

-- create
INSERT INTO "albums_N" ("title_N") VALUES (?) RETURNING iif("albums_N"."id_N">2147483647,_keys_exhausted(),"albums_N"."id_N"),"albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed) VALUES (?,'albums.created','albums',?,?,?,?)

-- create with a foreign key
INSERT INTO "albums_N" ("title_N","artistid_N") VALUES (?,?) RETURNING iif("albums_N"."id_N">2147483647,_keys_exhausted(),"albums_N"."id_N"),"albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed) VALUES (?,'albums.created','albums',?,?,?,?)

-- create two
INSERT INTO "albums_N" ("title_N") VALUES (?) RETURNING iif("albums_N"."id_N">2147483647,_keys_exhausted(),"albums_N"."id_N"),"albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO "albums_N" ("title_N") VALUES (?) RETURNING iif("albums_N"."id_N">2147483647,_keys_exhausted(),"albums_N"."id_N"),"albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ?,'albums.created','albums',v,?,?,? FROM (SELECT value AS v FROM json_each(?)) RETURNING id

-- update by key
UPDATE "albums_N" SET "title_N"=?,_v=_v+1 WHERE "albums_N"."id_N"=? RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed) VALUES (?,'albums.updated','albums',?,?,?,?)

-- update by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."title_N"=?) LIMIT 100001) c
UPDATE "albums_N" SET "live_N"=?,_v=_v+1 WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."title_N"=?) RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',','"words":',ifnull("albums_N"."words_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ?,'albums.updated','albums',v,?,?,? FROM (SELECT value AS v FROM json_each(?)) RETURNING id

-- add of a link
SELECT "tags_N"."id_N","tags_N"."id_N" FROM "tags_N" WHERE ("tags_N"."id_N" IN (SELECT value FROM json_each(?)) AND "tags_N"."deletedat_N" IS NULL)
SELECT "albums_N"."id_N","albums_N"."id_N" FROM "albums_N" WHERE "albums_N"."id_N" IN (SELECT value FROM json_each(?))
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"tags_N"."id_N") AS j FROM "tags_N" WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND ("tags_N"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"=(SELECT "t1"."id_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=?)) AND "tags_N"."deletedat_N" IS NULL)) ORDER BY "tags_N"."id_N" LIMIT 1001)
SELECT "tags_N"."id_N","tags_N"."id_N" FROM "tags_N" WHERE ("tags_N"."id_N" IN (SELECT value FROM json_each(?)) AND "tags_N"."deletedat_N" IS NULL)
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"tags_N"."id_N") AS j FROM "tags_N" WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND ("tags_N"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"=(SELECT "t1"."id_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=?)) AND "tags_N"."deletedat_N" IS NULL)) ORDER BY "tags_N"."id_N" LIMIT 1001)

-- restore of none
SELECT count(*) FROM (SELECT 1 FROM "tags_N" WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND ((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND ((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND "tags_N"."name_N"=?))) LIMIT 100001) c
UPDATE "tags_N" SET "deletedat_N"=?,"deletedwith_N"=?,_v=_v+1 WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND ((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND ((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND "tags_N"."name_N"=?))) RETURNING "tags_N"."id_N","tags_N"._v,1,1,json_object('id',"tags_N"."id_N",'name',"tags_N"."name_N",'deletedAt',"tags_N"."deletedat_N")

-- trash by filter
SELECT count(*) FROM (SELECT 1 FROM "tags_N" WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND ("tags_N"."deletedat_N" IS NULL AND ("tags_N"."deletedat_N" IS NULL AND "tags_N"."name_N"=?))) LIMIT 100001) c
UPDATE "tags_N" SET "deletedat_N"=?,"deletedwith_N"=?,_v=_v+1 WHERE (("tags_N".rowid*2654435761>>16&1023 OR _tick()) AND ("tags_N"."deletedat_N" IS NULL AND ("tags_N"."deletedat_N" IS NULL AND "tags_N"."name_N"=?))) RETURNING "tags_N"."id_N","tags_N"._v,1,1,json_object('id',"tags_N"."id_N",'name',"tags_N"."name_N",'deletedAt',"tags_N"."deletedat_N")

-- destroy by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."title_N"=?) LIMIT 100001) c
SELECT "albums_N"."id_N" FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."title_N"=?)
DELETE FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."title_N"=?) RETURNING "albums_N"."id_N"
