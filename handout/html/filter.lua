-- What pandoc's LaTeX can't express: boxes, hints that open, figures, and scrolling blocks.

local title
local boxes = {["edition-note"] = "Note", ["edition-expect"] = "What you should see"}
local blocks = {terminal = "Terminal", python = "Python"}

local function html(text)
  return pandoc.RawBlock("html", text)
end

local function escape(text)
  return (text:gsub("[&<>\"]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["\""] = "&quot;"}))
end

-- A block that can also be scrolled with the keyboard.
local function scrolling(label, content)
  return pandoc.Div(content, pandoc.Attr("", {"scroll"}, {{"tabindex", "0"}, {"role", "group"}, {"aria-label", label}}))
end

-- Hints fold at the end of their question, where \seehints is.
local hints = {}

local function keep_hints(div)
  if div.classes[1] ~= "edition-hints" then return end
  local folded = pandoc.Blocks({})
  for _, item in ipairs(div.content[2].content) do
    local term, definitions = item[1], item[2]
    folded:insert(html('<details class="hint"><summary>' .. escape(pandoc.utils.stringify(term)) .. "</summary>"))
    for _, definition in ipairs(definitions) do folded:extend(definition) end
    folded:insert(html("</details>"))
  end
  hints[pandoc.utils.stringify(div.content[1])] = folded
  return {}
end

local function place_hints(div)
  if div.classes[1] ~= "edition-seehints" then return end
  local question = pandoc.utils.stringify(div.content)
  local folded = hints[question] or error("\\seehints{" .. question .. "} comes twice, or without its hints")
  hints[question] = nil
  return folded
end

local function all_placed()
  for question in pairs(hints) do error("\\begin{hints}{" .. question .. "} has no \\seehints") end
end

-- Figures and the appendix's sections have numbers, which \ref shows.
local numbers, figures, sections = {}, 0, 0

local function number_figure(div)
  if div.classes[1] ~= "edition-pic" then return end
  figures = figures + 1
  numbers["fig:" .. pandoc.utils.stringify(div.content[1])] = tostring(figures)
end

local function number_section(header)
  if header.classes:includes("unnumbered") then return end
  sections = sections + 1
  local letter = string.char(64 + sections)
  numbers[header.identifier] = letter
  header.content:insert(1, pandoc.Str("Appendix " .. letter .. ": "))
  return header
end

-- Ids are those of labels, with a dash for the colon.
local function dashed(label)
  return (label:gsub(":", "-"))
end

local function Link(link)
  local kind, label = link.attributes["reference-type"], link.attributes.reference
  if kind then
    if kind ~= "ref" then error("\\" .. kind .. " has no sense in the HTML edition. Use \\ref, or words") end
    local number = numbers[label] or error("\\ref{" .. label .. "} names nothing that has a number. Correct it, or use \\hyperref")
    return pandoc.Link(number, "#" .. dashed(label))
  elseif link.target:sub(1, 1) == "#" then
    link.target = dashed(link.target)
    return link
  end
end

-- The paragraphs of \pic: name, alternative text, caption.
local function figure(div)
  local name, words = table.unpack(div.content:map(pandoc.utils.stringify))
  local number = numbers["fig:" .. name]
  local caption = pandoc.Plain(div.content[3].content)
  caption.content:insert(1, pandoc.Space())
  caption.content:insert(1, pandoc.Strong("Figure " .. number .. "."))
  return {
    html('<figure id="fig-' .. name .. '">'),
    scrolling("Figure " .. number, {html('<img src="figure:' .. name .. '" alt="' .. escape(words) .. '">')}),
    html("<figcaption>"), caption, html("</figcaption></figure>"),
  }
end

local function Div(div)
  local class = div.classes[1]
  if boxes[class] then
    local label, kind = boxes[class], class:gsub("edition%-", "")
    div.content:insert(1, pandoc.Div(pandoc.Plain(label), pandoc.Attr("", {"label"}, {{"aria-hidden", "true"}})))
    return pandoc.Div(div.content, pandoc.Attr("", {"section", "box", kind}, {{"role", "note"}, {"aria-label", label}}))
  elseif class == "edition-pic" then
    return figure(div)
  elseif class == "edition-worth" then
    div.classes = {"worth"}
    return #div.content > 0 and div or {}
  elseif class == "center" then
    -- The title is in the page's header.
    return div.content:filter(function(block)
      return pandoc.utils.stringify(block) ~= title
    end)
  end
end

local function Table(block)
  local head, body = block.head.rows, block.bodies[1].body
  -- pandoc takes at most one head row: these are the rows above joined cells
  local joined = #head == 0
  while joined and body[1] do
    joined = body[1].cells:find_if(function(cell) return cell.col_span > 1 end) ~= nil
    if joined or #head > 0 then head:insert(body:remove(1)) end
  end
  for _, row in ipairs(body) do
    for _, cell in ipairs(row.cells) do
      if #pandoc.utils.stringify(cell.contents) > 30 then cell.classes:insert("prose") end
    end
  end
  block.head.rows, block.bodies[1].body = head, body
  return scrolling("Table", {block})
end

local function CodeBlock(block)
  local class = block.classes[1]
  local label = blocks[class] or error("a listing that is neither terminal nor python: " .. block.text)
  local attributes = {{"tabindex", "0"}, {"role", "group"}, {"aria-label", label}}
  return pandoc.CodeBlock(block.text, pandoc.Attr("", {class}, attributes))
end

-- Formulas may be wider than a phone's screen.
local function Math(math)
  local labeled = math.text:match("\\label{.-}")
  if labeled then error(labeled .. ": equations have no numbers in the HTML edition. Name the equation in words") end
  local display = math.mathtype == "DisplayMath"
  local wide = #math.text > (display and 60 or 40)
  local attributes = wide and {{"tabindex", "0"}, {"role", "group"}, {"aria-label", "Formula"}} or {}
  if display or wide then
    return pandoc.Span(math, pandoc.Attr("", {display and "equation" or "wide"}, attributes))
  end
end

-- No heading level is skipped: a subsubsection of a problem is one level below it, like a question.
-- h1 is the title.
local levels = {}
local function Header(header)
  while #levels > 0 and levels[#levels] >= header.level do table.remove(levels) end
  table.insert(levels, header.level)
  header.level = #levels + 1
  header.identifier = dashed(header.identifier)
  -- A heading is a link to itself, to be copied.
  if header.identifier ~= "" then
    local words = header.content:walk({Link = function(link) return link.content end})
    header.content = {pandoc.Link(words, "#" .. header.identifier, "", pandoc.Attr("", {"permalink"}))}
  end
  return header
end

-- pandoc typesets dashes and quotes in \texttt, unlike LaTeX. Short code stays on one line: --preset.
local function Code(code)
  code.text = code.text:gsub("–", "--"):gsub("—", "---"):gsub("[‘’]", "'"):gsub("[“”]", '"')
  if #code.text <= 24 then code.classes:insert("short") end
  return code
end

-- style.css has the colors and sizes.
local function Span(span)
  if span.identifier == "" and not (span.classes:includes("equation") or span.classes:includes("wide")) then return span.content end
end

local function Meta(meta)
  title = pandoc.utils.stringify(meta.title)
end

return {{Div = keep_hints}, {Div = place_hints}, {Pandoc = all_placed}, {Meta = Meta}, {Div = number_figure, Header = number_section}, {Link = Link}, {Div = Div, CodeBlock = CodeBlock, Table = Table, Math = Math, Header = Header, Code = Code, Span = Span}}
