-- Wireshark's dissector for NDP and Homa.
--
-- The tables FIELDS, VALUES and PORTS stand above: `ndpstack decode --lua` writes them from the
-- stack's own table of fields. Copy the output into Wireshark's folder of personal plugins.
-- Wireshark up to 4.2 has Lua 5.2: there are no operators for bits.

local VIEWS = { decimal = base.DEC, hex = base.HEX, signed = base.DEC, flags = base.HEX,
                named = base.DEC }
local TITLES = { ["ndpstack.ndp"] = "NDP", homa = "Homa" }

-- Bytes that hold so many bits, as an integer's width: 8, 16, 24, 32 or 64.
local function container(bits)
    for _, width in ipairs({ 8, 16, 24, 32, 64 }) do
        if bits <= width then return width end
    end
end

-- The integer's kind of a field, and the mask of the field in it.
local function shape(field)
    local first = field.bit % 8
    local width = container(first + field.width)
    local sort = (field.view == "signed" and "int" or "uint") .. width
    if field.width == width then return sort, width, nil end
    return sort, width, (2 ^ field.width - 1) * 2 ^ (width - first - field.width)
end

local function names_of(protocol, name)
    local names = {}
    for _, value in ipairs(VALUES) do
        if value.protocol == protocol and value.field == name then
            names[value.value] = value.name
        end
    end
    return names
end

-- One kind of field, made once for each name: rows that differ only in where they lie share it.
local function declare(made, protocol, field)
    local sort, width, mask = shape(field)
    local abbreviation = protocol .. "." .. field.key
    if made[abbreviation] then return made[abbreviation] end
    local names = field.view == "named" and names_of(protocol, field.name) or nil
    local view = VIEWS[field.view]
    local item = { flags = {} }
    if width == 64 then
        item.field = ProtoField.new(field.name, abbreviation,
            field.view == "signed" and ftypes.INT64 or ftypes.UINT64, nil, view, nil, field.text)
    else
        item.field = ProtoField[sort](abbreviation, field.name, view, names, mask, field.text)
    end
    if field.view == "flags" then
        for _, value in ipairs(VALUES) do
            if value.protocol == protocol and value.field == field.name then
                local lowest = 2 ^ (width - field.bit % 8 - field.width)
                table.insert(item.flags, ProtoField.bool(abbreviation .. "." .. value.name:lower(),
                    value.name, width, nil, value.value * lowest, value.text))
            end
        end
    end
    made[abbreviation] = item
    return item
end

local function number(range, field)
    if field.width > 32 then return range:uint64() end
    local value = range:bitfield(field.bit % 8, field.width)
    if field.view == "signed" and value >= 2 ^ (field.width - 1) then
        value = value - 2 ^ field.width
    end
    return value
end

local function said(field, value, protocol)
    if field.width > 32 then return tostring(value) end
    if field.view == "named" then return names_of(protocol, field.name)[value] end
    if field.view == "hex" then return string.format("0x%x", value) end
    if field.view ~= "flags" then return string.format("%d", value) end
    local parts = {}
    for _, each in ipairs(VALUES) do
        if each.protocol == protocol and each.field == field.name
            and math.floor(value / each.value) % 2 == 1 then
            table.insert(parts, each.name)
        end
    end
    return #parts > 0 and table.concat(parts, "+") or nil
end

-- Adds one field of the packet to the tree; returns its first value, or nil beyond the end.
local function add(tree, buffer, field)
    local first, _, item = nil, nil, field.item
    local width = container(field.bit % 8 + field.width) / 8
    for occurrence = 0, field.times - 1 do
        local at = math.floor((field.bit + occurrence * field.stride) / 8)
        if at + width > buffer:captured_len() then break end
        local range = buffer(at, width)
        local branch = tree:add(item.field, range)
        for _, flag in ipairs(item.flags) do branch:add(flag, range) end
        if first == nil then first = number(range, field) end
    end
    return first
end

local function build(protocol)
    local proto = Proto(protocol, TITLES[protocol] .. " (ndpstack)")
    local made, fields = {}, {}
    for _, field in ipairs(FIELDS) do
        if field.protocol == protocol then
            field.item = declare(made, protocol, field)
            table.insert(fields, field)
        end
    end
    local registered = {}
    for _, item in pairs(made) do
        table.insert(registered, item.field)
        for _, flag in ipairs(item.flags) do table.insert(registered, flag) end
    end
    proto.fields = registered
    proto.experts.trimmed = ProtoExpert.new(protocol .. ".trimmed", "Payload was trimmed",
        expert.group.SEQUENCE, expert.severity.NOTE)
    return proto, fields
end

local function dissector(protocol, type_at, types_max)
    local proto, fields = build(protocol)
    local types = names_of(protocol, "type")

    function proto.dissector(buffer, pinfo, root)
        if buffer:captured_len() <= type_at then return 0 end
        local kind = buffer(type_at, 1):uint() % types_max
        if types[kind] == nil then return 0 end
        local tree = root:add(proto, buffer())
        local values, words, header = {}, { types[kind] }, 0
        for _, field in ipairs(fields) do
            if field.types[kind] then
                local value = add(tree, buffer, field)
                header = math.max(header, math.ceil((field.bit + field.width +
                    (field.times - 1) * field.stride) / 8))
                if value ~= nil then
                    values[field.name] = value
                    local text = field.column and said(field, value, protocol)
                    if text then table.insert(words, field.name .. "=" .. text) end
                end
            end
        end
        header = math.min((values.header_words or 0) > 0 and values.header_words * 4 or header,
            buffer:reported_len())
        if buffer:reported_len() - header < (values.payload_bytes or 0) then
            table.insert(words, "TRIMMED")
            tree:add_proto_expert_info(proto.experts.trimmed)
        end
        tree:set_len(math.min(header, buffer:captured_len()))
        tree:append_text(", " .. types[kind])
        pinfo.cols.protocol = TITLES[protocol]
        pinfo.cols.info = table.concat(words, " ")
        if buffer:captured_len() > header then
            Dissector.get("data"):call(buffer(header):tvb(), pinfo, root)
        end
        return buffer:captured_len()
    end
    return proto
end

local ndp = dissector("ndpstack.ndp", 0, 16)
local homa = dissector("homa", 11, 256)
DissectorTable.get("udp.port"):add(PORTS.ndp, ndp)
DissectorTable.get("udp.port"):add(PORTS.homa, homa)
DissectorTable.get("ip.proto"):add(PORTS.homa_ip, homa)
