"""Real cities, so that answers look like answers. London comes first: it is the most common birth place."""

CITIES = (
    "London", "Paris", "New York", "Chicago", "Toronto", "Sydney", "Berlin", "Vienna", "Dublin", "Boston", "Mumbai",
    "Tokyo", "Madrid", "Rome", "Moscow", "Montreal", "Melbourne", "Edinburgh", "Glasgow", "Prague", "Budapest", "Warsaw",
    "Stockholm", "Copenhagen", "Amsterdam", "Brussels", "Lisbon", "Athens", "Istanbul", "Cairo", "Lagos", "Nairobi",
    "Manila", "Seoul", "Beijing", "Shanghai", "Delhi", "Kolkata", "Chennai", "Karachi", "Lahore", "Dhaka", "Tehran",
    "Baghdad", "Beirut", "Jerusalem", "Kyiv", "Odesa", "Riga", "Vilnius", "Tallinn", "Helsinki", "Oslo", "Bergen",
    "Malmö", "Hamburg", "Munich", "Cologne", "Leipzig", "Zürich", "Geneva", "Basel", "Milan", "Naples", "Turin", "Venice",
    "Genoa", "Palermo", "Barcelona", "Seville", "Valencia", "Porto", "Lyon", "Marseille", "Toulouse", "Bordeaux", "Lille",
    "Antwerp", "Rotterdam", "Kraków", "Gdańsk", "Bucharest", "Sofia", "Belgrade", "Zagreb", "Sarajevo", "Tbilisi",
    "Yerevan", "Baku", "Tashkent", "Kabul", "Colombo", "Bangkok", "Hanoi", "Jakarta", "Singapore", "Osaka", "Kyoto",
    "Nagoya", "Busan", "Auckland", "Wellington", "Perth", "Brisbane", "Adelaide", "Hobart", "Cape Town", "Durban",
    "Harare", "Accra", "Dakar", "Tunis", "Algiers", "Casablanca", "Addis Ababa", "Kampala", "Havana", "Kingston",
    "Caracas", "Bogotá", "Lima", "Quito", "Santiago", "Buenos Aires", "Montevideo", "São Paulo", "Recife", "Mexico City",
    "Houston", "Dallas", "Denver", "Seattle", "Portland", "Detroit", "Cleveland", "Atlanta", "Miami", "Memphis",
    "Baltimore", "Pittsburgh", "Vancouver", "Calgary", "Winnipeg", "Ottawa", "Quebec", "Halifax", "Bristol", "Leeds",
    "Liverpool", "Manchester", "Cardiff", "Belfast", "Cork",
)
